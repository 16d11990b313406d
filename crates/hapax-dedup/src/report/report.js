"use strict";
(() => {
  document.documentElement.classList.add("scripted");
  for (const rows of document.querySelectorAll(".rows")) {
    // A moved passage lights up together with its partner.
    const light = (event, on) => {
      const passage = event.target.closest("[data-stretch]");
      if (!passage) return;
      const partners = rows.querySelectorAll(`[data-stretch="${passage.dataset.stretch}"]`);
      partners.forEach((p) => p.classList.toggle("lit", on));
    };
    for (const type of ["mouseover", "focusin"]) rows.addEventListener(type, (e) => light(e, true));
    for (const type of ["mouseout", "focusout"]) rows.addEventListener(type, (e) => light(e, false));
    rows.addEventListener("click", (event) => {
      const fold = event.target.closest(".fold");
      if (fold) fold.closest(".row").classList.add("open");
    });
  }
})();
