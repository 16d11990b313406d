// Check a page: by address, by text, and what is said about it.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { TEA, answer, base, button, choose, record, send, test, words } from "./harness.mjs";

await test("the page opens on Address, with a sentence, an example and no label of another mode", async (page) => {
  assert.equal(await page.getByRole("radio", { name: "Address" }).isChecked(), true);
  await page.getByLabel("Address of the page").waitFor();
  await page.getByText("Hapax finds near-duplicate web pages").waitFor();
  const labels = await page.locator("main label[for]").filter({ visible: true }).allInnerTexts();
  assert.deepEqual(labels, ["Address of the page"]);
  assert.equal(await page.locator("textarea").isVisible(), false);
  await page.getByRole("link", { name: "See an example" }).click();
  await page.getByRole("heading", { name: /^\d+ % of all runs of 5 words are in both pages/ }).waitFor();
  await page.locator(".differs .only-a", { hasText: "aromatic" }).waitFor();
});

await test("a page is recorded, and a near copy gets its verdict and the pair view", async (page) => {
  await choose(page, "Text");
  await page.getByLabel("Text of the page").fill(TEA);
  await page.getByLabel("Its address").fill("https://example.org/tea");
  await button(page, "Check and record").click();
  await page.getByRole("heading", { name: "New", exact: true }).waitFor();
  await page.getByLabel("Text of the page").fill(TEA.replace("aromatic", "bitter"));
  await page.getByLabel("Its address").fill("copy.example/about-tea");
  await button(page, "Check").click();
  await page.getByRole("heading", { name: "Near-duplicate" }).waitFor();
  const pair = page.getByRole("region", { name: "Side by side" });
  await pair.locator(".a .only-a", { hasText: "aromatic" }).waitFor();
  await pair.locator(".b .only-b", { hasText: "bitter" }).waitFor();
  assert.match(await page.locator(".verdict .figure").innerText(), /^9\d %\s+similar \(estimated\)/);
});

/** A verdict as the service gives it; only what differs is named. */
const verdict = (more) => ({
  url: "https://example.org/x", verdict: "new", is_winner: true, removable: false, group: null, winner: "https://example.org/x", alike: null, reason: null, tier: "none",
  matches: [], found: 0, recorded: false, ...more,
});
const checked = async (page, more) => {
  await page.unroute("**/v1/check");
  await answer(page, "**/v1/check", verdict(more));
  await choose(page, "Text");
  await page.getByLabel("Text of the page").fill("some words");
  await page.getByLabel("Its address").fill("https://example.org/x");
  await button(page, "Check").click();
  const card = page.getByRole("region", { name: "Verdict" });
  await card.waitFor();
  return card;
};

await test("no number is shown that the service did not give", async (page) => {
  for (const more of [{}, { nearest: null, seen: "first" }]) {
    const card = await checked(page, more);
    assert.doesNotMatch(await card.innerText(), /%/);
    assert.equal(await page.locator(".verdict .figure").count(), 0);
    assert.equal(await card.getByText("Nothing like it is known").count(), more.nearest === null ? 1 : 0);
  }
});

await test("a page below the bound is shown with the nearest known page and its similarity", async (page) => {
  const card = await checked(page, { seen: "first", nearest: { url: "https://example.org/near", distance: 1, similarity: 0.5 } });
  assert.match(await card.locator(".figure").innerText(), /^50 %\s+similar to the nearest page/);
  await card.getByRole("link", { name: "https://example.org/near" }).waitFor();
  await card.getByText("(1 bit of 64 differs)").waitFor();
  await card.getByText("not recorded before", { exact: true }).waitFor();
});

await test("a known page is called known, unchanged or changed", async (page) => {
  for (const [kind, name, said] of [["unchanged", "Known, unchanged", "recorded before, with the same text"], ["changed", "Known, changed", "recorded before, with a different text"]]) {
    const card = await checked(page, { verdict: kind, seen: kind, nearest: null });
    await card.getByRole("heading", { name, exact: true }).waitFor();
    await card.getByText(said).waitFor();
  }
});

await test("a page that is recorded and asked for again is not new", async (page) => {
  const url = "https://again.example/";
  await record({ url, text: words(40, 90) });
  const known = await (await send("POST", "/v1/check", { url, text: words(40, 90) })).json();
  assert.equal(known.seen, "unchanged");
  await choose(page, "Text");
  await page.getByLabel("Text of the page").fill(words(40, 90));
  await page.getByLabel("Its address").fill("again.example/");
  await button(page, "Check").click();
  await page.getByRole("heading", { name: "Known, unchanged", exact: true }).waitFor();
});

/** A site with a page, a redirect to it, and nothing else. */
const site = async () => {
  const server = createServer((request, response) => {
    if (request.url === "/old") { response.writeHead(301, { location: "/new" }); response.end(); return; }
    response.writeHead(request.url === "/new" ? 200 : 404, { "content-type": "text/html" });
    response.end(`<title>Fetched</title><p>${TEA} fetched`);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { server, host: `127.0.0.1:${server.address().port}` };
};

await test("an address is fetched by the service and checked", async (page) => {
  const { server, host } = await site();
  await page.getByLabel("Address of the page").fill(`http://${host}/old`);
  await button(page, "Check").click();
  await page.getByRole("heading", { name: "Near-duplicate" }).waitFor();
  await page.locator(".b .only-b", { hasText: "fetched" }).first().waitFor();
  await page.getByText(`http://${host}/old → http://${host}/new`).waitFor();
  await page.locator(".page.b", { hasText: `http://${host}/new` }).waitFor();
  server.close();
});

await test("an address is taken without its scheme: https, then http; http first for a port", async (page) => {
  const { server, host } = await site();
  const asked = [];
  await page.route("**/v1/fetch", async (route) => {
    const body = route.request().postDataJSON();
    asked.push(body.url);
    if (body.url.startsWith("http:")) return route.continue({ postData: JSON.stringify({ ...body, url: `http://${host}/new` }) });
    return route.fulfill({ status: 502, contentType: "application/json", body: JSON.stringify({ error: { code: body.url.endsWith("new") ? "robots_unreachable" : "fetch_failed", message: "no connection" } }) });
  });
  for (const [typed, expected] of [
    [" tea.example/new ", ["https://tea.example/new", "http://tea.example/new"]],
    ["tea.example", ["https://tea.example", "http://tea.example"]],
    [`${host}/new`, [`http://${host}/new`]],
    ["localhost/new", ["http://localhost/new"]],
  ]) {
    asked.length = 0;
    await page.getByLabel("Address of the page").fill(typed);
    await page.evaluate(() => document.querySelector("section.card")?.remove());
    await button(page, "Check").click();
    await page.getByRole("heading", { name: "Near-duplicate" }).waitFor();
    assert.deepEqual(asked, expected);
  }
  server.close();
});

await test("a recorded address that cannot be fetched shows what is recorded", async (page) => {
  await answer(page, "**/v1/fetch", { error: { code: "fetch_failed", message: "no connection" } }, 502);
  await page.getByLabel("Address of the page").fill("example.org/tea");
  await button(page, "Check").click();
  await page.getByRole("alert").getByText("no connection").waitFor();
  const card = page.getByRole("region", { name: "Recorded page" });
  await card.getByRole("link", { name: "https://example.org/tea" }).waitFor();
  await card.getByRole("link", { name: "Group 0" }).waitFor();
});

await test("a service that fetches nothing says so before one tries", async (page) => {
  const shown = await (await fetch(`${base}/v1/settings`)).json();
  await answer(page, "**/v1/settings", { ...shown, fetching: false });
  await page.reload();
  await page.getByText("This service does not fetch pages").waitFor();
});

await test("errors say what to do", async (page) => {
  await button(page, "Check").click();
  await page.getByRole("alert").getByText("Enter an address first").waitFor();
  await page.getByLabel("Address of the page").fill("http://10.0.0.1/");
  await button(page, "Check").click();
  await page.getByRole("alert").getByText("not a public address").waitFor();
  await choose(page, "Text");
  await page.getByLabel("Its address").fill("");
  await button(page, "Check").click();
  await page.getByRole("alert").getByText("Paste some text first").waitFor();
  await page.getByLabel("Text of the page").fill("some words");
  await button(page, "Check and record").click();
  await page.getByRole("alert").getByText("recorded under their address").waitFor();
  await page.route("**/v1/check", (route) => route.abort());
  await button(page, "Check").click();
  await page.getByRole("alert").getByText("does not answer").waitFor();
});
