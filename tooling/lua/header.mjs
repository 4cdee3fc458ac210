/**
 * The header of a Lua script is its contract: it names every key, every argument and every reply, and the typed
 * call in TypeScript is made from it. This file reads the header and refuses a body that does not keep to it.
 *
 *   #!lua flags=no-writes
 *   -- What the script does, in prose.
 *   --
 *   -- KEYS
 *   --   tasks        HASH id -> record; until the retention of the task ends
 *   --   lanes...     any number of keys; only the last item may have dots
 *   -- ARGV
 *   --   leaseMs      ms
 *   -- RETURNS
 *   --   the records
 *   local tasks = KEYS[1]
 *   local leaseMs = tonumber(ARGV[1])
 */

const ITEM = /^-- {3}([a-z][A-Za-z0-9]*)(\.\.\.)?(?: {2,}|$)/;
const SHEBANG = /^#!lua(?: flags=([a-z,-]+))?$/;

/** @returns {{ flags: string[], keys: string[], args: string[], restKey?: string, restArg?: string }} */
export function readHeader(name, source) {
  const fail = (problem) => {
    throw new Error(`${name}: ${problem}`);
  };
  const lines = source.split('\n');
  const shebang = SHEBANG.exec(lines[0]) ?? fail('line 1 must be "#!lua" or "#!lua flags=…"');
  const end = lines.findIndex((line, index) => index > 0 && !line.startsWith('--'));
  const sections = { KEYS: [], ARGV: [], RETURNS: [] };
  let section;
  for (const line of lines.slice(1, end)) {
    const heading = /^-- (KEYS|ARGV|RETURNS)$/.exec(line);
    if (heading) section = sections[heading[1]];
    else if (section) section.push(line);
  }
  if (sections.RETURNS.length === 0) fail('the header must say what the script RETURNS');
  const body = lines.slice(end);
  const keys = readItems(fail, 'KEYS', sections.KEYS);
  const args = readItems(fail, 'ARGV', sections.ARGV);
  checkPrologue(fail, body, 'KEYS', keys);
  checkPrologue(fail, body, 'ARGV', args);
  checkBody(fail, body);
  return {
    flags: shebang[1]?.split(',') ?? [],
    keys: keys.names,
    args: args.names,
    ...(keys.rest && { restKey: keys.rest }),
    ...(args.rest && { restArg: args.rest }),
  };
}

function readItems(fail, section, lines) {
  const names = [];
  let rest;
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (!item) continue;
    if (rest) fail(`${section}: "${rest}..." must be the last item`);
    if (item[2]) rest = item[1];
    else names.push(item[1]);
  }
  return { names, rest };
}

/** Each fixed item is bound, once, to a local of its own name; the rest is walked from the right index. */
function checkPrologue(fail, body, table, { names, rest }) {
  const bound = new Map();
  for (const line of body) {
    const assignment = /^local ([\w, ]+) = (.+)$/.exec(line);
    if (assignment) {
      const locals = assignment[1].split(/, */);
      const values = assignment[2].split(/, */);
      values.forEach((value, index) => {
        const use = new RegExp(`\\b${table}\\[(\\d+)\\]`).exec(value);
        if (use) bound.set(Number(use[1]), locals[index]);
      });
    } else if (new RegExp(`\\b${table}\\[\\d+\\]`).test(line)) {
      fail(`${table}[n] stands outside the prologue: ${line.trim()}`);
    }
    const walk = new RegExp(`for \\w+ = (\\d+), #${table}\\b`).exec(line);
    if (walk && (!rest || Number(walk[1]) !== names.length + 1)) {
      fail(`the rest of ${table} begins at ${names.length + 1}: ${line.trim()}`);
    }
  }
  names.forEach((item, index) => {
    if (bound.get(index + 1) !== item) {
      fail(`${table}[${index + 1}] is "${item}" in the header and "${bound.get(index + 1)}" in the body`);
    }
  });
  if (bound.size > names.length) fail(`the body reads more of ${table} than the header names`);
}

function checkBody(fail, body) {
  for (const line of body) {
    if (/\bcjson\b/.test(line)) fail('payloads are opaque: no cjson');
    if (/redis\.p?call\(\s*['"](KEYS|SCAN)['"]/i.test(line)) fail('no KEYS, no SCAN');
    if (/\bos\.time\b/.test(line)) fail("time is redis.call('TIME')");
  }
}
