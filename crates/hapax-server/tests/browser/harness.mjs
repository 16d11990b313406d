// What every part uses: a browser, a page per test that fails on any script error, and pages to record.

import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.HAPAX_NODE_MODULES)("playwright-core");
export const base = process.argv[2];
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

/** So many words, the same for the same seed. */
export const words = (seed, n) => Array.from({ length: n }, (_, i) => `word${(seed * 7919 + i * 104729) % 99991}`).join(" ");
export const TEA = `Tea is an aromatic drink prepared by pouring hot water over cured leaves. ${words(1, 150)}`;
export const PHONE = { viewport: { width: 390, height: 740 }, colorScheme: "dark", hasTouch: true };
export const VIEWS = ["#/check", "#/compare", "#/compare?example=1", "#/search", "#/search?q=database", "#/groups", "#/groups/0", "#/history", "#/overview", "#/settings"];

let passed = 0, failed = 0;

export async function test(name, run, hash = "", options = {}) {
  const page = await (await browser.newContext(options)).newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("console", (message) => { if (/Content Security Policy/i.test(message.text())) problems.push(message.text()); });
  try {
    page.setDefaultTimeout(10000);
    await page.goto(`${base}/${hash}`);
    await run(page);
    if (problems.length) throw new Error(problems.join("\n"));
    passed += 1;
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
  await page.context().close();
}

export async function finish() {
  await browser.close();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

export const send = (method, path, body) => fetch(`${base}${path}`, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
export const record = (body) => send("POST", "/v1/pages", body);

/** Answers a path with this instead of the service. */
export const answer = (page, path, json, status = 200) => page.route(path, (route) => route.fulfill({ status, contentType: "application/json", body: JSON.stringify(json) }));

export const button = (page, name) => page.getByRole("button", { name, exact: true });
export const choose = (page, name) => page.getByRole("radio", { name, exact: true }).first().check();
