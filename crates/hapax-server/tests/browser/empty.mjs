// A new repository.

import assert from "node:assert/strict";
import { test } from "./harness.mjs";

await test("an empty repository says so", async (page) => {
  await page.locator("main").getByText("Nothing is recorded yet").waitFor();
  await page.getByRole("link", { name: "History" }).click();
  await page.getByText("Nothing has happened yet").waitFor();
}, "#/groups");

await test("the overview of an empty repository shows no empty charts", async (page) => {
  await page.locator("main").getByText("Nothing is recorded yet").waitFor();
  assert.equal(await page.locator("svg").count(), 0);
  assert.equal(await page.locator(".tile", { hasText: "duplicates" }).count(), 0);
  await page.getByRole("link", { name: "Check and record a page" }).click();
  await page.getByLabel("Address of the page").waitFor();
}, "#/overview");
