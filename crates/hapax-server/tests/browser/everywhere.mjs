// What holds on every view: keyboard, phone, numbers and their nouns.

import assert from "node:assert/strict";
import { PHONE, VIEWS, base, record, test, words } from "./harness.mjs";

await test("everything can be done with the keyboard", async (page) => {
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.getByRole("radio", { name: "Address" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.getByLabel("Text of the page").focus();
  await page.keyboard.type("words to look for");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New", exact: true }).waitFor();
});

await test("one of anything has a noun without an s", async (page) => {
  const { group } = await (await record({ url: "https://one.example/", text: "one" })).json();
  await record({ url: "https://lone.example/", text: words(50, 90) });
  const views = [...VIEWS, ...(group === null ? [] : [`#/groups/${group}`])];
  for (const hash of views) {
    await page.goto(`${base}/${hash}`);
    await page.locator("h1").waitFor();
    await page.waitForLoadState("networkidle");
    const text = await page.locator("main").innerText();
    assert.doesNotMatch(text, /(^|\s)1 (pages|words|bits|groups|changes|members|characters|near-duplicates|similar pages)\b/, hash);
    assert.doesNotMatch(text, /\[object|undefined|NaN/, hash);
  }
});

await test("a phone shows it all without scrolling sideways", async (page) => {
  for (const hash of VIEWS) {
    await page.goto(`${base}/${hash}`);
    await page.locator("h1").waitFor();
    await page.waitForLoadState("networkidle");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${hash} is ${wide} pixels too wide`);
  }
}, "", PHONE);

await test("a table that is wider than a phone scrolls and shows that it does", async (page) => {
  const box = page.getByRole("region", { name: "Members" }).locator(".table").first();
  const scroll = box.locator(".scroll");
  await box.getByText("Scroll the table sideways").waitFor();
  assert.ok(await scroll.evaluate((e) => e.scrollWidth > e.clientWidth));
  assert.match(await scroll.getAttribute("class"), /more-right/);
  assert.notEqual(await scroll.evaluate((e) => getComputedStyle(e).boxShadow), "none");
  await scroll.evaluate((e) => { e.scrollLeft = e.scrollWidth; });
  await page.waitForFunction(() => { const { classList } = document.querySelector(".scroll"); return classList.contains("more-left") && !classList.contains("more-right"); });
}, "#/groups/0", PHONE);

await test("a table that fits has no hint to scroll", async (page) => {
  await page.locator("tbody tr").first().waitFor();
  assert.equal(await page.getByText("Scroll the table sideways").isVisible(), false);
}, "#/groups");
