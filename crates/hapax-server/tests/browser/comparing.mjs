// Two pages side by side, and pages that try to be more than text.

import assert from "node:assert/strict";
import { button, choose, record, test, words } from "./harness.mjs";

await test("the pair view is that of hapax compare: legend, folded passages, differences, moved passages", async (page) => {
  const legend = page.locator(".legend li");
  await legend.first().waitFor();
  assert.deepEqual(await legend.allInnerTexts(), ["only in A", "only in B", "in both, elsewhere"]);
  for (const kind of ["only-a", "only-b", "moved"]) {
    const style = (place) => page.locator(place).first().evaluate((e) => { const { backgroundColor, boxShadow, borderBottom } = getComputedStyle(e); return [backgroundColor, boxShadow, borderBottom]; });
    assert.deepEqual(await style(`.legend .${kind}`), await style(`.rows .${kind}`));
    assert.notEqual((await style(`.rows .${kind}`)).join(), (await style(".rows .same .a")).join(), `${kind} is marked`);
  }
  await page.getByText("exact Jaccard similarity").waitFor();
  await page.getByText("estimated similarity").waitFor();
  await page.getByText("The 64 bits of both fingerprints").click();
  assert.equal(await page.locator("svg.bits rect.hit").count(), 64);
  const middle = page.locator(".row.same .a .middle").first();
  assert.equal(await middle.isVisible(), false);
  await page.locator(".row.same .a .fold").first().click();
  assert.equal(await middle.isVisible(), true);
  await page.getByRole("button", { name: "↓ difference" }).click();
  assert.equal(await page.locator(".row.current").count(), 1);
  const moved = page.locator(".a .moved[data-stretch]").first();
  const stretch = await moved.getAttribute("data-stretch");
  await moved.click();
  assert.equal(await page.evaluate(() => document.activeElement.closest(".b") && document.activeElement.dataset.stretch), stretch);
}, "#/compare?example=1");

await test("two recorded pages are compared by addresses without a scheme", async (page) => {
  await page.getByLabel("Page A: address").fill("example.org/tea");
  await page.getByLabel("Page B: address").fill("copy.example/about-tea");
  await button(page, "Compare").click();
  await page.locator(".only-b", { hasText: "bitter" }).waitFor();
  await page.getByLabel("Page B: address").fill("nowhere.example/");
  await button(page, "Compare").click();
  await page.getByRole("alert").getByText("Page B: nowhere.example/ is not recorded").waitFor();
  await page.getByLabel("Page B: address").fill("");
  await button(page, "Compare").click();
  await page.getByRole("alert").getByText("Page B has no address").waitFor();
}, "#/compare");

await test("a page whose title and text are scripts is shown as text", async (page) => {
  const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>`;
  const address = `https://evil.example/"><script>alert(3)</script>`;
  const text = `${evil} ${words(2, 100)}`;
  const body = text.replaceAll("<", "&lt;");
  await record({ url: address, html: `<title>&lt;script>alert(4)&lt;/script></title><p>${body}</p>` });
  await choose(page, "HTML");
  await page.getByLabel("HTML of the page").fill(`<title>&lt;script>alert(5)&lt;/script></title><p>${body} &lt;b>more`);
  await button(page, "Check").click();
  await page.getByText(address).first().waitFor();
  const pair = page.getByRole("region", { name: "Side by side" });
  await pair.getByText("<script>alert(2)</script>").first().waitFor();
  await pair.getByText("<script>alert(5)</script>").first().waitFor();
  assert.equal(await page.locator("main script, main img").count(), 0);
  await page.getByRole("link", { name: "Groups" }).click();
  await page.getByRole("region", { name: "Groups found" }).getByText(address).waitFor();
});

await test("a script address does not become a link", async (page) => {
  await record({ url: "javascript:alert(6)", text: words(3, 80) });
  await page.reload();
  await page.getByText("javascript:alert(6)").waitFor();
  assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
}, "#/groups");
