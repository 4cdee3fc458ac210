import { describe, expect, test } from '@jest/globals';
import { compact } from '../../../tooling/lua/compact.mjs';
import { readHeader } from '../../../tooling/lua/header.mjs';
import { includeParts, partsOf, piecesOf } from '../../../tooling/lua/include.mjs';
import { renderScripts } from '../../../tooling/lua/render.mjs';

const HEADER = `#!lua flags=no-writes
-- KEYS
--   tasks  HASH
-- RETURNS
--   the records
`;
const GOOD = `#!lua flags=no-writes
-- Moves due records, in prose that may name KEYS and ARGV.
--
-- KEYS
--   tasks        HASH id -> record; until
--                the retention ends
--   lanes...     LIST each
-- ARGV
--   leaseMs      ms
--   most
--   ids...
-- RETURNS
--   the records
local tasks, leaseMs = KEYS[1], tonumber(ARGV[1])
local most = math.min(100, math.max(1, tonumber(ARGV[2])))

-- A comment may name KEYS[7], cjson and os.time.
local function read(id) return redis.call('HGET', tasks, id) end
local found = {}
for i = 2, #KEYS do found[#found + 1] = read(KEYS[i]) end
for i = 3, #ARGV, 2 do found[#found + 1] = read(ARGV[i] .. '--' .. ARGV[i + 1]) end
return found
`;

/** The script above with one thing changed. */
function changed(from: string | RegExp, to: string): string {
  const text = GOOD.replace(from, to);
  expect(text).not.toBe(GOOD);
  return text;
}

describe('readHeader', () => {
  test('gives flags and names', () => {
    expect(readHeader('x', GOOD)).toEqual({
      flags: ['no-writes'],
      keys: ['tasks'],
      args: ['leaseMs', 'most'],
      restKey: 'lanes',
      restArg: 'ids',
    });
    expect(readHeader('x', '#!lua\n-- RETURNS\n--   1\nreturn 1\n')).toEqual({
      flags: [],
      keys: [],
      args: [],
    });
  });

  test.each([
    ['no shebang', /^.*\n/, '', 'line 1 must be "#!lua" or "#!lua flags=…"'],
    ['another shebang', '#!lua', '#!/usr/bin/lua', 'line 1 must be "#!lua" or "#!lua flags=…"'],
    ['the end of a line of Windows', '\n', '\r\n', 'line 1 must be "#!lua" or "#!lua flags=…"'],
    [
      'an unknown flag',
      'no-writes',
      'nowrites',
      'the flag nowrites is none of no-writes, allow-oom, allow-stale, no-cluster',
    ],
    [
      'the flag that allows several slots',
      'no-writes',
      'allow-cross-slot-keys',
      'the flag allow-cross-slot-keys is none of no-writes, allow-oom, allow-stale, no-cluster',
    ],
    ['no body', /\nlocal tasks[^]*$/, '\n', 'the script has a header only'],
    ['no RETURNS', '-- RETURNS', '-- ', 'the header must say what the script RETURNS'],
    ['an empty RETURNS', '--   the records\n', '', 'the header must say what the script RETURNS'],
    [
      'a heading with more in its line',
      '-- KEYS\n',
      '-- KEYS:\n',
      '"KEYS" must be alone in its line: -- KEYS:',
    ],
    ['a heading that stands twice', '-- RETURNS\n', '-- ARGV\n-- RETURNS\n', 'ARGV stands twice'],
    ['a name that stands twice', '--   most\n', '--   leaseMs\n', 'ARGV: "leaseMs" stands twice'],
    [
      'an item after the rest',
      '--   ids...\n',
      '--   ids...\n--   more\n',
      'ARGV: "ids..." must be the last item',
    ],
    [
      'a key that is bound to another name',
      'local tasks, ',
      'local task, ',
      'KEYS[1] is "tasks" in the header and "task" in the body',
    ],
    [
      'an argument that is not bound',
      ', tonumber(ARGV[1])',
      ', 5',
      'ARGV[1] is "leaseMs" in the header and "undefined" in the body',
    ],
    [
      'arguments that are bound the wrong way round',
      'tonumber(ARGV[1])',
      'tonumber(ARGV[2])',
      'ARGV[2] is bound twice',
    ],
    [
      'an argument that is bound twice',
      'local found',
      'local again = ARGV[1]\nlocal found',
      'ARGV[1] is bound twice',
    ],
    [
      'a key that the header lacks',
      'local found',
      'local other = KEYS[2]\nlocal found',
      'the body reads more of KEYS than the header names',
    ],
    [
      'a second key in one expression',
      'KEYS[1], ',
      'KEYS[1] .. KEYS[2], ',
      'the body reads more of KEYS than the header names',
    ],
    [
      'a key outside the prologue',
      'return found',
      "redis.call('DEL', KEYS[1])\nreturn found",
      "KEYS[n] stands outside the prologue: redis.call('DEL', KEYS[1])",
    ],
    [
      'a key inside a block',
      'return found',
      'do\n  local again = KEYS[1]\nend',
      'KEYS[n] stands outside the prologue: local again = KEYS[1]',
    ],
    [
      'a rest of arguments that is walked from another index',
      'for i = 3',
      'for i = 2',
      'the rest of ARGV begins at 3: for i = 2, #ARGV, 2 do',
    ],
    [
      'a rest that is unpacked from another index',
      'return found',
      'return { unpack(ARGV) }',
      'the rest of ARGV begins at 3: return { unpack(ARGV) }',
    ],
    [
      'a rest that the header lacks',
      '--   lanes...     LIST each\n',
      '',
      'the header names no rest of KEYS: for i = 2, #KEYS do',
    ],
    ['cjson', 'read(KEYS[i])', 'cjson.decode(read(KEYS[i]))', 'payloads are opaque: no cjson'],
    [
      'KEYS as a command',
      'read(KEYS[i])',
      "redis.call('keys', '*')",
      'a script works on the keys that it is given',
    ],
    ['SCAN', 'read(KEYS[i])', 'redis.pcall("SCAN", 0)', 'a script works on the keys that it is given'],
    [
      "a clock that is not the server's",
      'read(KEYS[i])',
      'os.time()',
      'time is that of server.time.part.lua',
    ],
  ])('refuses %s', (_, from, to, problem) => {
    const thrown = (): unknown => readHeader('queue.move', changed(from, to));
    expect(thrown).toThrow(/^queue\.move: /);
    expect(thrown).toThrow(problem);
  });
});

describe('renderScripts', () => {
  const scripts = [{ name: 'queue.move-all', text: GOOD }];

  test('gives constants that hold the scripts to the byte', () => {
    const text = GOOD.replace(
      'return found',
      String.raw`return found .. '\n' .. "\"" .. '\\n é 😀 ${'`'}\u2028'`,
    );
    const module = renderScripts(
      [
        { name: 'queue.move-all', text },
        { name: 'queue.get', text: GOOD },
      ],
      '@mortise/redis',
    );
    expect(module).toMatch(
      /^\/\/ Made from .*\nimport \{ Script \} from '@mortise\/redis';\n\nexport const queueMoveAll = \/\* @__PURE__ \*\/ new /,
    );
    const body = module
      .replace(/^import .*$/m, '')
      .replaceAll('export const', 'const')
      .replaceAll(/ as (?:const|string)/g, '');
    // oxlint-disable-next-line typescript/no-implied-eval -- the rendered text is run
    const made = new Function(
      'Script',
      `${body}; return [queueMoveAll, queueGet].map((script) => script.definition);`,
    ) as (script: unknown) => unknown;
    const Script = class {
      constructor(readonly definition: object) {}
    };
    const names = {
      isReadOnly: true,
      keys: ['tasks'],
      args: ['leaseMs', 'most'],
      restKey: 'lanes',
      restArg: 'ids',
    };
    expect(made(Script)).toEqual([
      { name: 'queue.move-all', ...names, source: compact(text) },
      { name: 'queue.get', ...names, source: compact(GOOD) },
    ]);
  });

  test('refuses two files that give one constant', () => {
    expect(() => renderScripts([...scripts, { name: 'queue.move.all', text: GOOD }], './script.js')).toThrow(
      'queue.move.all: queue.move-all gives queueMoveAll already',
    );
  });

  test('gives each part of several scripts once, after the parts that it includes', () => {
    const inner = 'local function f(y) return y end';
    const outer = '-- include queue.inner.part.lua\nlocal g = f';
    const start = 'local tasks = KEYS[1]\n';
    const written = { 'queue.inner.part.lua': inner, 'queue.outer.part.lua': outer };
    const read = (part: string): string => written[part as keyof typeof written];
    const isShared = (): boolean => true;
    const body = `${start}-- include queue.outer.part.lua\nreturn g(tasks)\n`;
    const module = renderScripts(
      ['queue.one', 'queue.two'].map((name) => ({
        name,
        text: `${HEADER}${includeParts(name, body, read)}`,
        pieces: piecesOf(`${HEADER}${body}`, read, isShared),
      })),
      './script.js',
      new Map(Object.entries(written).map(([name, text]) => [name, piecesOf(text, read, isShared)])),
    );
    expect(module.split(inner)).toHaveLength(2);
    expect([...partsOf(body, read)]).toEqual(['queue.outer.part.lua', 'queue.inner.part.lua']);
    const code = module.replace(/^import .*$/m, '').replaceAll('export const', 'const');
    // oxlint-disable-next-line typescript/no-implied-eval -- the rendered text is run
    const made = new Function(
      'Script',
      `${code.replaceAll(/ as (?:const|string)/g, '')}; return queueTwo.source;`,
    ) as (script: unknown) => unknown;
    const Script = class {
      constructor(definition: object) {
        Object.assign(this, definition);
      }
    };
    expect(made(Script)).toBe(`#!lua flags=no-writes\n${start}${inner}\nlocal g = f\nreturn g(tasks)\n`);
  });

  test.each([['delete'], ['queue.2nd'], ['Queue.move'], ['queue_move']])('refuses the name %s', (name) => {
    expect(() => renderScripts([{ name, text: GOOD }], './script.js')).toThrow(
      `${name}: a script is named <class>.<verb>, such as queue.enqueue`,
    );
  });
});

describe('compact', () => {
  test('leaves the first line and the code, without comments, indentation and empty lines', () => {
    expect(compact('#!lua\n-- KEYS\n\n  local a = \'--\' -- why\n\n    return a .. "--" -- so\n')).toBe(
      '#!lua\nlocal a = \'--\'\nreturn a .. "--"\n',
    );
  });
});

describe('includeParts', () => {
  const include = (part: string): string =>
    includeParts('a.b.lua', 'local x = KEYS[1]\n-- include a.part.lua\nreturn f(x)\n', () => part);

  test('puts a part in where its line stands', () => {
    expect(include('local function f(y) return y end\n')).toBe(
      'local x = KEYS[1]\nlocal function f(y) return y end\nreturn f(x)\n',
    );
  });

  test('puts parts into parts', () => {
    const parts: Readonly<Record<string, string>> = {
      'a.part.lua': 'if x then\n-- include b.part.lua\nend\n',
      'b.part.lua': 'y = x\n',
    };
    expect(includeParts('a.b.lua', '-- include a.part.lua\n', (part) => parts[part]!)).toBe(
      'if x then\ny = x\nend\n',
    );
  });

  test('puts a part in where its line is indented', () => {
    expect(includeParts('a.b.lua', 'if x then\n  -- include a.part.lua\nend\n', () => 'y = x\n')).toBe(
      'if x then\ny = x\nend\n',
    );
  });

  test.each(['#!lua\nreturn 1', 'return KEYS[1]', 'return ARGV[1]'])('refuses %j as a part', (part) => {
    expect(() => include(part)).toThrow('a.b.lua: a.part.lua is a part');
  });
});
