// Files that are dropped on the page or chosen in a dialog.

import assert from "node:assert/strict";
import { TEA, base, test } from "./harness.mjs";

/** Drops a file of these bytes on an element. */
const drop = async (page, target, name, data) => {
  const carried = await page.evaluateHandle(([name, data]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(data)], name));
    return transfer;
  }, [name, [...data]]);
  for (const type of ["dragenter", "dragover", "drop"]) await page.locator(target).first().dispatchEvent(type, { dataTransfer: carried });
};
const utf8 = (text) => new TextEncoder().encode(text);

await test("a dropped file is checked, as HTML or as text", async (page) => {
  await drop(page, "main form", "tea.html", utf8(`<title>Tea</title><p>${TEA}</p>`));
  await page.getByRole("heading", { name: /^(Exact|Near-)\s?duplicate$/ }).waitFor();
  assert.equal(await page.getByRole("radio", { name: "HTML" }).isChecked(), true);
  await drop(page, "main form", "notes", utf8(TEA));
  await page.getByRole("heading", { name: "Exact duplicate" }).waitFor();
  assert.equal(await page.getByRole("radio", { name: "Text" }).isChecked(), true);
  assert.equal(await page.getByLabel("Text of the page").inputValue(), TEA);
});

await test("a dropped page is read in the charset that it declares", async (page) => {
  const cyrillic = [0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2];
  await drop(page, "main form", "page.htm", [...utf8('<meta charset="windows-1251"><p>'), ...cyrillic]);
  await page.getByRole("region", { name: "Verdict" }).waitFor();
  assert.match(await page.getByLabel("HTML of the page").inputValue(), /Привет$/);
  await drop(page, "main form", "plain.txt", [0x63, 0x61, 0x66, 0xe9]);
  await page.waitForFunction(() => document.querySelector("textarea").value === "café");
});

await test("a file that is no page is refused by name", async (page) => {
  await drop(page, "main form", "picture.png", [0x89, 0x50, 0x4e, 0x47, 0, 0, 0, 1]);
  await page.getByRole("alert").getByText("picture.png is neither HTML nor text").waitFor();
});

await test("a file dropped next to the form does not replace the page", async (page) => {
  const kept = await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["x"], "x.html"));
    return document.querySelector("header").dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
  });
  assert.equal(kept, false, "the browser's own action is prevented");
  assert.equal(page.url().startsWith(base), true);
});

await test("a file is chosen in the dialog, for checking and for comparing", async (page) => {
  const file = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
  const choose = async (name, chosen) => {
    const [dialog] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name }).click()]);
    await dialog.setFiles(chosen);
  };
  await choose("choose a file", file("tea.txt", TEA));
  await page.getByRole("heading", { name: "Exact duplicate" }).waitFor();
  await page.getByRole("link", { name: "Compare" }).click();
  await choose("choose a file for A", file("a.txt", `${TEA} milk`));
  await drop(page, ".drop >> nth=1", "b.txt", utf8(`${TEA} sugar`));
  await page.waitForFunction(() => [...document.querySelectorAll("textarea")].every((area) => area.value));
  await page.getByRole("button", { name: "Compare" }).click();
  await page.locator(".only-a", { hasText: "milk" }).waitFor();
  await page.locator(".only-b", { hasText: "sugar" }).waitFor();
});
