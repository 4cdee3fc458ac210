/**
 * The header of a Lua script is its contract: it names every key, every argument and every reply, and the typed
 * call in TypeScript is made from it. This file reads the header and refuses a body that does not keep to it.
 *
 *   #!lua flags=no-writes
 *   -- Enqueues tasks: a sentence on the purpose of the script.
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

import { withoutComment } from './without-comment.mjs';

const SHEBANG = /^#!lua(?: flags=([a-z,-]+))?$/;
/** Those of Redis 7.0 but `allow-cross-slot-keys`: all keys of a script share a slot. */
const FLAGS = ['no-writes', 'allow-oom', 'allow-stale', 'no-cluster'];
const ITEM = /^-- {3}([a-z][A-Za-z0-9]*)(\.\.\.)?(?: {2,}|$)/;
const FORBIDDEN = [
  [/\bcjson\b/, 'payloads are opaque: no cjson'],
  [
    /\bredis\.p?call\(\s*['"](KEYS|SCAN|RANDOMKEY|FLUSHALL|FLUSHDB)['"]/i,
    'a script works on the keys that it is given',
  ],
  [/\[=*\[/, 'a long bracket may span lines, and the text is sent without its indentation'],
  [/\bos\.(time|clock)\b/, 'time is that of server.time.part.lua'],
];

/**
 * @param {string} name stands in refusals
 * @param {string} source
 * @returns {{ flags: string[], keys: string[], args: string[], restKey?: string, restArg?: string }}
 */
export function readHeader(name, source) {
  const fail = (problem) => {
    throw new Error(`${name}: ${problem}`);
  };
  const lines = source.split('\n');
  const shebang = SHEBANG.exec(lines[0]) ?? fail('line 1 must be "#!lua" or "#!lua flags=…"');
  const flags = shebang[1]?.split(',') ?? [];
  for (const flag of flags)
    if (!FLAGS.includes(flag)) fail(`the flag ${flag} is none of ${FLAGS.join(', ')}`);
  const end = lines.findIndex((line, index) => index > 0 && !line.startsWith('--'));
  const body = end < 0 ? [] : lines.slice(end).map(withoutComment);
  if (body.every((line) => line.trim() === '')) fail('the script has a header only');
  const sections = readSections(fail, lines.slice(1, end));
  if (!sections.RETURNS.some((line) => /\w/.test(line))) fail('the header must say what the script RETURNS');
  const keys = readItems(fail, 'KEYS', sections.KEYS);
  const args = readItems(fail, 'ARGV', sections.ARGV);
  checkUses(fail, body, 'KEYS', keys);
  checkUses(fail, body, 'ARGV', args);
  for (const line of body) for (const [pattern, problem] of FORBIDDEN) if (pattern.test(line)) fail(problem);
  return {
    flags,
    keys: keys.names,
    args: args.names,
    ...(keys.rest && { restKey: keys.rest }),
    ...(args.rest && { restArg: args.rest }),
  };
}

function readSections(fail, lines) {
  const sections = { KEYS: [], ARGV: [], RETURNS: [] };
  const seen = new Set();
  let section;
  for (const line of lines) {
    const [, heading, more] = /^-- (KEYS|ARGV|RETURNS)\b(.*)$/.exec(line) ?? [];
    if (heading === undefined) {
      section?.push(line);
      continue;
    }
    if (more !== '') fail(`"${heading}" must be alone in its line: ${line}`);
    if (seen.has(heading)) fail(`${heading} stands twice`);
    seen.add(heading);
    section = sections[heading];
  }
  return sections;
}

function readItems(fail, section, lines) {
  const names = [];
  let rest;
  for (const line of lines) {
    const [, name, dots] = ITEM.exec(line) ?? [];
    if (name === undefined) continue;
    if (rest) fail(`${section}: "${rest}..." must be the last item`);
    if (names.includes(name)) fail(`${section}: "${name}" stands twice`);
    if (dots) rest = name;
    else names.push(name);
  }
  return { names, rest };
}

/** Each fixed item is bound, once, to a local of its own name; the rest is walked or unpacked from where it begins. */
function checkUses(fail, body, table, { names, rest }) {
  const fixed = new RegExp(`\\b${table}\\[(\\d+)\\]`, 'g');
  const any = new RegExp(`\\b${table}\\b`);
  const start = new RegExp(`(?:for \\w+ = (\\d+), *#${table}\\b|\\bunpack\\(${table}(?:, *(\\d+))?)`, 'g');
  const bound = new Map();
  for (const line of body) {
    const [, locals, values] = /^local ([\w, ]+?) *= *(.+)$/.exec(line) ?? [];
    for (const [index, value] of topLevelItems(values ?? '').entries()) {
      for (const [, position] of value.matchAll(fixed)) {
        if (bound.has(position)) fail(`${table}[${position}] is bound twice`);
        bound.set(position, locals.split(/, */)[index]);
      }
    }
    if (values === undefined && line.search(fixed) >= 0) {
      fail(`${table}[n] stands outside the prologue: ${line.trim()}`);
    }
    if (!rest && any.test(line.replace(fixed, '')))
      fail(`the header names no rest of ${table}: ${line.trim()}`);
    for (const [, first, unpacked = '1'] of line.matchAll(start)) {
      const begin = names.length + 1;
      if (Number(first ?? unpacked) !== begin)
        fail(`the rest of ${table} begins at ${begin}: ${line.trim()}`);
    }
  }
  for (const [index, item] of names.entries()) {
    const local = bound.get(String(index + 1));
    if (local !== item) fail(`${table}[${index + 1}] is "${item}" in the header and "${local}" in the body`);
  }
  if (bound.size > names.length) fail(`the body reads more of ${table} than the header names`);
}

/** The items between the commas that are in no bracket: `max(1, a), b` has two. */
function topLevelItems(list) {
  const items = [''];
  let depth = 0;
  for (const character of list) {
    if ('([{'.includes(character)) depth += 1;
    if (')]}'.includes(character)) depth -= 1;
    if (character === ',' && depth === 0) items.push('');
    else items[items.length - 1] += character;
  }
  return items;
}
