// Groups: found, listed, with their members and their history.

import assert from "node:assert/strict";
import { TEA, answer, base, button, record, send, test } from "./harness.mjs";

await test("a group is found by any part of an address and its members are shown with the reason", async (page) => {
  await record({ url: "https://copy.example/about-tea", text: TEA.replace("aromatic", "bitter") });
  const search = page.getByLabel("Find groups by any part of an address");
  for (const part of ["copy.example", "example/about", "OUT-TEA"]) {
    await search.fill(part);
    await button(page, "Search").click();
    await page.getByText(`Groups with a page whose address contains "${part}"`).waitFor();
    assert.equal(await page.locator("tbody tr").count(), 1, part);
  }
  await page.getByRole("link", { name: "#0" }).click();
  await page.getByRole("heading", { name: "Group 0" }).waitFor();
  const rows = page.getByRole("region", { name: "Members" }).getByRole("row");
  assert.equal(await rows.count(), 3);
  const { rows: members } = await (await fetch(`${base}/v1/groups/0`)).json();
  const { reason } = members.find((member) => member.url.includes("copy.example")).status;
  await rows.filter({ hasText: "copy.example" }).locator("td.why").getByText(reason.text).waitFor();
  await rows.filter({ hasText: "example.org/tea" }).getByText("kept", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Side by side" }).click();
  await page.locator(".only-b", { hasText: "bitter" }).waitFor();
}, "#/groups");

await test("a search goes on while answers are empty and not the last", async (page) => {
  const found = { id: 0, winner: "https://example.org/tea", members: 2, failing: 0, diameter: 1, verified: true };
  await page.route("**/v1/groups?search=*", (route) => {
    const after = Number(new URL(route.request().url()).searchParams.get("after") ?? 0);
    return route.fulfill({ contentType: "application/json", body: JSON.stringify({ rows: after === 3 ? [found] : [], next: after < 30 ? String(after + 1) : null }) });
  });
  await page.getByLabel("Find groups by any part of an address").fill("tea");
  await button(page, "Search").click();
  await page.getByRole("link", { name: "#0" }).waitFor();
  await button(page, "More").click();
  await page.getByRole("button", { name: "Search on" }).click();
  await page.getByRole("button", { name: "Search on" }).waitFor({ state: "hidden" });
  assert.equal(await page.locator("tbody tr").count(), 1);
  await page.getByLabel("Find groups by any part of an address").fill("");
  await page.unroute("**/v1/groups?search=*");
  await answer(page, "**/v1/groups?search=*", { rows: [], next: null });
  await page.getByLabel("Find groups by any part of an address").fill("milk");
  await button(page, "Search").click();
  await page.locator("main").getByText('No recorded address contains "milk"').waitFor();
}, "#/groups");

await test("a group's history is moved through by its changes, and has times", async (page) => {
  const score = (n) => send("PUT", `/v1/pages/${encodeURIComponent("https://copy.example/about-tea")}/score`, { score: n });
  for (let n = 0; n < 12; n += 1) { await score(1); await score(null); }
  await page.reload();
  const box = page.getByRole("region", { name: "History", exact: true });
  const rows = box.locator("tbody tr");
  await rows.nth(19).waitFor();
  assert.equal(await rows.count(), 20);
  await rows.first().getByText("is now the kept page of").waitFor();
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
  await page.getByText("This group has ended").waitFor();
  await page.getByRole("link", { name: `group ${one + two - gone}` }).first().click();
  await page.getByRole("heading", { name: `Group ${one + two - gone}` }).waitFor();
}, "#/groups");

await test("an unknown group is an error, not an empty page", async (page) => {
  await page.getByRole("alert").getByText("no group of this number").waitFor();
}, "#/groups/4000000");
