// The web page in a real browser: what a person does, and what a hostile page tries.
// Usage: node browser.mjs http://127.0.0.1:PORT, with HAPAX_NODE_MODULES naming a node_modules/.

import { createRequire } from "node:module";
import { createServer } from "node:http";
import assert from "node:assert/strict";

const { chromium } = createRequire(process.env.HAPAX_NODE_MODULES)("playwright-core");
const base = process.argv[2];
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const words = (seed, n) => Array.from({ length: n }, (_, i) => `word${(seed * 7919 + i * 104729) % 99991}`).join(" ");
const TEA = `Tea is an aromatic drink prepared by pouring hot water over cured leaves. ${words(1, 150)}`;

let passed = 0, failed = 0;
const open = async (hash = "", options = {}) => {
  const page = await (await browser.newContext(options)).newPage();
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("dialog", (dialog) => { page.problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("console", (message) => { if (/Content Security Policy/i.test(message.text())) page.problems.push(message.text()); });
  await page.goto(`${base}/${hash}`);
  return page;
};
const test = async (name, run, hash, options) => {
  const page = await open(hash, options);
  try {
    await run(page);
    assert.deepEqual(page.problems, []);
    passed += 1;
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
  await page.context().close();
};
const record = (body) => fetch(`${base}/v1/pages`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

await test("an empty repository says so", async (page) => {
  await page.getByText("Nothing is recorded yet").waitFor();
  await page.getByRole("link", { name: "History" }).click();
  await page.getByText("Nothing has happened yet").waitFor();
}, "#/groups");

await test("a page is recorded, and a near copy gets its verdict and the pair view", async (page) => {
  await page.getByLabel("Text of the page").fill(TEA);
  await page.getByLabel("Its address (needed to record it)").fill("https://example.org/tea");
  await page.getByRole("button", { name: "Check and record" }).click();
  await page.getByRole("heading", { name: "New", exact: true }).waitFor();
  await page.getByLabel("Text of the page").fill(TEA.replace("aromatic", "bitter"));
  await page.getByLabel("Its address (needed to record it)").fill("https://copy.example/about-tea");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByRole("heading", { name: "Near duplicate" }).waitFor();
  const pair = page.getByRole("region", { name: "Side by side" });
  await pair.locator(".left mark", { hasText: "aromatic" }).waitFor();
  await pair.locator(".right mark", { hasText: "bitter" }).waitFor();
  assert.match(await page.locator(".verdict .figure").innerText(), /^9\d(\.\d)? %/);
});

await test("a group is found by host and its members are shown with the reason", async (page) => {
  await record({ url: "https://copy.example/about-tea", text: TEA.replace("aromatic", "bitter") });
  await page.getByLabel("A host, or how an address begins").fill("copy.example");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByRole("link", { name: "#0" }).click();
  await page.getByRole("heading", { name: "Group 0" }).waitFor();
  const rows = page.getByRole("region", { name: "Members" }).getByRole("row");
  assert.equal(await rows.count(), 3);
  await rows.filter({ hasText: "copy.example" }).getByText("shorter URL").waitFor();
  await rows.filter({ hasText: "example.org/tea" }).getByText("stays", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Side by side" }).click();
  await page.locator(".right mark", { hasText: "bitter" }).waitFor();
}, "#/groups");

await test("a group's history is moved through by its changes", async (page) => {
  const score = (n) => fetch(`${base}/v1/pages/${encodeURIComponent("https://copy.example/about-tea")}/score`, { method: "PUT", headers: { "content-type": "application/json" }, body: JSON.stringify({ score: n }) });
  for (let n = 0; n < 12; n += 1) { await score(1); await score(null); }
  await page.reload();
  const box = page.getByRole("region", { name: "History", exact: true });
  const rows = box.locator("tbody tr");
  await rows.nth(19).waitFor();
  assert.equal(await rows.count(), 20);
  await rows.first().getByText("stays for").waitFor();
  await box.getByText("The last 20 changes, newest first.").waitFor();
  await box.getByRole("button", { name: "Older changes" }).click();
  await rows.filter({ hasText: "joined" }).nth(1).waitFor();
  assert.equal(await rows.count(), 26);
  await box.getByText("26 changes, newest first.").waitFor();
  assert.equal(await box.getByRole("button", { name: "Older changes" }).isVisible(), false);
  const numbers = (await rows.locator("td.number").allInnerTexts()).map(Number);
  assert.deepEqual(numbers, [...numbers].sort((a, b) => b - a));
}, "#/groups/0");

await test("a group that became part of another says where its pages are", async (page) => {
  const text = (changed) => Array.from({ length: 200 }, (_, i) => (changed(i) ? `other${i}` : `word${i}`)).join(" ");
  const group = async (url, body) => (await (await record({ url, text: body })).json()).group;
  const one = await group("https://merge.example/a", text(() => false));
  const two = await group("https://merge.example/b", text((i) => i < 10 || i >= 100 && i < 110));
  assert.notEqual(one, two);
  await record({ url: "https://merge.example/m", text: text((i) => i < 10), score: 9 });
  const gone = (await fetch(`${base}/v1/groups/${two}`)).status === 404 ? two : one;
  await page.goto(`${base}/#/groups/${gone}`);
  await page.getByText("This group is no more").waitFor();
  await page.getByRole("link", { name: `group ${one + two - gone}` }).first().click();
  await page.getByRole("heading", { name: `Group ${one + two - gone}` }).waitFor();
}, "#/groups");

await test("a page whose title and text are scripts is shown as text", async (page) => {
  const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>`;
  const address = `https://evil.example/"><script>alert(3)</script>`;
  const text = `${evil} ${words(2, 100)}`;
  const body = text.replaceAll("<", "&lt;");
  await record({ url: address, html: `<title>&lt;script>alert(4)&lt;/script></title><p>${body}</p>` });
  await page.getByRole("radio", { name: "HTML" }).check();
  await page.getByLabel("HTML of the page").fill(`<title>&lt;script>alert(5)&lt;/script></title><p>${body} &lt;b>more`);
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText(address).first().waitFor();
  const pair = page.getByRole("region", { name: "Side by side" });
  await pair.getByText("<script>alert(2)</script>").first().waitFor();
  await pair.getByText("<script>alert(5)</script>").waitFor();
  assert.equal(await page.locator("main script, main img").count(), 0);
  await page.getByRole("link", { name: "Groups" }).click();
  await page.getByText(address).waitFor();
});

await test("a script address does not become a link", async (page) => {
  await record({ url: "javascript:alert(6)", text: words(3, 80) });
  await page.reload();
  await page.getByText("javascript:alert(6)").waitFor();
  assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
}, "#/groups");

await test("an address is fetched by the service and judged", async (page) => {
  const site = createServer((request, response) => {
    if (request.url === "/old") { response.writeHead(301, { location: "/new" }); response.end(); return; }
    response.writeHead(request.url === "/new" ? 200 : 404, { "content-type": "text/html" });
    response.end(`<title>Fetched</title><p>${TEA} fetched`);
  }).listen(0, "127.0.0.1");
  await page.getByRole("radio", { name: "Address", exact: true }).first().check();
  await page.getByLabel("Address of the page").fill(`http://127.0.0.1:${site.address().port}/old`);
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByRole("heading", { name: "Near duplicate" }).waitFor();
  await page.locator(".right mark", { hasText: "fetched" }).first().waitFor();
  site.close();
});

await test("errors say what to do", async (page) => {
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByRole("alert").getByText("Paste some text first").waitFor();
  await page.getByRole("radio", { name: "Address", exact: true }).first().check();
  await page.getByLabel("Address of the page").fill("http://10.0.0.1/");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByRole("alert").getByText("no public address").waitFor();
  await page.route("**/v1/check", (route) => route.abort());
  await page.getByRole("radio", { name: "Text", exact: true }).first().check();
  await page.getByLabel("Text of the page").fill("some words");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByRole("alert").getByText("does not answer").waitFor();
});

await test("an unknown group is an error, not an empty page", async (page) => {
  await page.getByRole("alert").getByText("no group of this number").waitFor();
}, "#/groups/4000000");

await test("the overview draws its charts and goes on", async (page) => {
  await page.getByRole("img", { name: /^Pages:/ }).waitFor();
  await page.getByRole("img", { name: /^Distance to the winner:/ }).waitFor();
  await page.getByText("pages", { exact: true }).first().waitFor();
}, "#/overview");

await test("history moves through events", async (page) => {
  await page.getByText("joined").first().waitFor();
  await page.getByRole("link", { name: "Settings" }).click();
  await page.getByText("web-1:").waitFor();
}, "#/history");

await test("everything can be done with the keyboard", async (page) => {
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.getByLabel("Text of the page").focus();
  await page.keyboard.type("words to look for");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New", exact: true }).waitFor();
});

await test("a phone shows it all without scrolling sideways", async (page) => {
  for (const hash of ["#/try", "#/groups", "#/groups/0", "#/history", "#/overview", "#/settings"]) {
    await page.goto(`${base}/${hash}`);
    await page.locator("h1").waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${hash} is ${wide} pixels too wide`);
  }
}, "", { viewport: { width: 360, height: 740 }, colorScheme: "dark" });

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
