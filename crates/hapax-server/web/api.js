// Requests to the service. An error has the code, the message and the number of the request.

const TOKEN = "hapax-token";
export const token = {
  get: () => sessionStorage.getItem(TOKEN) || "",
  set: (value) => (value ? sessionStorage.setItem(TOKEN, value) : sessionStorage.removeItem(TOKEN)),
};

/** The epoch of the last answer with events. */
let epoch = null;

export async function ask(method, path, body) {
  const headers = {};
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw Object.assign(new Error("The service does not answer. Is it still running?"), { title: "No connection.", code: "unreachable" });
  }
  epoch = response.headers.get("hapax-epoch") ?? epoch;
  const text = await response.text();
  let answer;
  try { answer = JSON.parse(text); } catch { answer = null; }
  if (response.ok && answer !== null) return answer;
  const { code = String(response.status), message = "The answer cannot be read." } = answer?.error ?? {};
  const number = response.headers.get("x-request-id");
  throw Object.assign(new Error(`${message}${number ? ` (request ${number})` : ""}`), { code });
}

/** The service's settings, asked for once. */
let known = null;
export function settings() {
  known ??= get("/v1/settings").catch((error) => { known = null; throw error; });
  return known;
}

export const get = (path) => ask("GET", path);
export const post = (path, body) => ask("POST", path, body);

/** A path with parameters, those without a value left out. */
export function withParameters(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

/**
 * The addresses that typed text may mean, likeliest first. As browsers do, https is first but for
 * machines named by a number, a port or a name without a dot. One for an address with a scheme.
 */
export function addresses(typed) {
  const text = typed.trim();
  if (!text) return [];
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || /^(about|data|javascript|mailto):/i.test(text)) return [text];
  const rest = text.replace(/^\/+/, "");
  const [host] = rest.split(/[/?#]/);
  const local = /:\d*$/.test(host) || /^[\d.]+$/.test(host) || host.startsWith("[") || !host.includes(".");
  return (local ? ["http", "https"] : ["https", "http"]).map((scheme) => `${scheme}://${rest}`);
}

/** Tries addresses in turn while the error has one of these codes; fails with the first such error. */
export async function firstOf(urls, codes, attempt) {
  let first = null;
  for (const url of urls) {
    try {
      return await attempt(url);
    } catch (error) {
      first ??= error;
      if (!codes.includes(error.code)) throw error;
    }
  }
  throw first;
}

/** Errors of an address that may be had under the other scheme. */
export const UNREACHABLE = ["fetch_failed", "robots_unreachable"];

/** Events after a number, of the present history whatever was shown before. */
export async function events(after, limit) {
  await get("/v1/events?limit=1");
  return get(`/v1/events?after=${after}&limit=${limit}${epoch ? `&epoch=${epoch}` : ""}`);
}
