/**
 * The browser of a reader, for one program of a page. Requests to `https://api.example.com` go to the server of the page, which
 * has the API below `/v1/`. Checks find the names of `reader.d.ts` without an import.
 */
const { fetch } = globalThis;
globalThis.fetch = (target, options) =>
  fetch(typeof target === 'string' ? target.replace('https://api.example.com', '') : target, options);

/** Each call of `console.log`. */
const printed = [];
console.log = (...values) => void printed.push(values);

/** Members of objects count, not their order. */
const formOf = (value) =>
  JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

const fail = (text) => {
  throw new Error(text);
};
const assert = {
  ok: (value, text = 'not so') => value || fail(text),
  deepEqual: (found, wanted) =>
    formOf(found) === formOf(wanted) || fail(`${formOf(found)} is not ${formOf(wanted)}`),
};

/** A request to the API with the key of the operator. */
const api = async (method, path, body) => {
  const response = await fetch(`/v1/${path}`, {
    method,
    headers: body === undefined ? {} : { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) fail(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
};

/** Fails the program if the condition stays false for ten seconds. */
const until = async (condition) => {
  const end = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > end) fail(`never so: ${condition}, printed ${formOf(printed)}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

Object.assign(globalThis, { api, assert, printed, until });
