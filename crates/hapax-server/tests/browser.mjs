// The web page in a real browser: what a person does, and what a hostile page tries.
// Usage: node browser.mjs http://127.0.0.1:PORT, with HAPAX_NODE_MODULES naming a node_modules/.
// The service starts with an empty repository and serves a search index of examples/docs.
// The parts run in this order, on one repository.

import { finish } from "./browser/harness.mjs";

for (const part of ["empty", "checking", "files", "groups", "comparing", "operating", "everywhere"]) await import(`./browser/${part}.mjs`);
await finish();
