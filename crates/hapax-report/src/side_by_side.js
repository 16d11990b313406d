// Makes two texts side by side answer: folded passages open, moved passages lead to their partner,
// buttons go from difference to difference. The section holds the bar with its tools and the rows.
export function sideBySide(section) {
  const rows = section.querySelector(".rows");
  const tool = (name) => section.querySelector(`.tools .${name}`);
  document.documentElement.classList.add("scripted");

  tool("all").addEventListener("change", (event) => {
    rows.classList.toggle("open", event.target.checked);
  });

  // A moved passage lights up together with its partner; a click goes there.
  const partners = (of) =>
    rows.querySelectorAll(`[data-stretch="${of.dataset.stretch}"]`);
  const light = (event, on) => {
    const passage = event.target.closest("[data-stretch]");
    if (passage) partners(passage).forEach((p) => p.classList.toggle("lit", on));
  };
  for (const type of ["mouseover", "focusin"]) {
    rows.addEventListener(type, (event) => light(event, true));
  }
  for (const type of ["mouseout", "focusout"]) {
    rows.addEventListener(type, (event) => light(event, false));
  }
  const visit = (passage) => {
    const cell = passage.closest(".a, .b").classList.contains("a") ? ".a" : ".b";
    const other = [...partners(passage)].find((p) => !p.closest(cell));
    if (other) {
      other.scrollIntoView({ block: "center", behavior: "smooth" });
      other.focus({ preventScroll: true });
    }
  };
  rows.addEventListener("click", (event) => {
    const fold = event.target.closest(".fold");
    if (fold) return fold.closest(".row").classList.add("open");
    const passage = event.target.closest("[data-stretch]");
    if (passage) visit(passage);
  });
  rows.addEventListener("keydown", (event) => {
    const passage = event.target.closest("[data-stretch]");
    if (passage && event.key === "Enter") visit(passage);
  });

  const differences = [...rows.querySelectorAll(".differs")];
  let current = -1;
  const go = (step) => {
    if (!differences.length) return;
    differences[current]?.classList.remove("current");
    const from = current < 0 && step < 0 ? 0 : current;
    current = (from + step + differences.length) % differences.length;
    differences[current].classList.add("current");
    differences[current].scrollIntoView({ block: "center", behavior: "smooth" });
  };
  tool("next").addEventListener("click", () => go(1));
  tool("previous").addEventListener("click", () => go(-1));
}
