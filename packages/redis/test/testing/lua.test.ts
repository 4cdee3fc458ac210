/** Scripts of small pieces of Lua: what the engine replies is what Redis replies. */
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { RedisClient } from '../../src/index.js';
import { MemoryRedis } from '../../src/testing/index.js';
import { connect } from '../fixture/clients.js';

const PIECES = {
  'locals, closures and several values': `
    local a, b, c = (function(...) return select('#', ...), ... end)(7, nil, 9)
    local t = { a, b or 'nil', c or 'none', n = 1, [10] = 'ten', 'x', 'y' }
    local function swap(x, y) return y, x end
    t[1], t[2] = swap(t[1], t[2])
    local n = #t
    t[#t + 1], t[#t + 2] = 'p', 'q'
    return { t[1], t[2], t[3], n, #t, t.n, t[10], (swap(1, 2)), select(2, swap(1, 2)) }`,
  'loops, break and until': `
    local out = {}
    for i = 10, 1, -3 do out[#out + 1] = i end
    for i, v in ipairs({ 'a', 'b', nil, 'd' }) do out[#out + 1] = i .. v end
    local i = 0
    while true do i = i + 1 if i > 3 then break end end
    repeat local done = i > 5 i = i + 1 until done
    for word in string.gmatch('one two', '%a+') do out[#out + 1] = word end
    out[#out + 1] = i
    return out`,
  'functions that were declared before': `
    local t, later = {}, nil
    function later(x) return x * 2 end
    function t.f(x) return later(x) + 1 end
    return { t.f(4), type(later), type(t), type(nil), tostring(1.5), tostring(1e15), tostring(-0.1) }`,
  'and, or and not': `
    local f = false
    return { tostring(f and 1), tostring(nil or f), f or 'x', not f and 'y' or 'z', (1 and nil) == nil and 1 or 2 }`,
  'numbers as texts': `
    local out = {}
    for _, n in ipairs({ 0.5, 1.5, 2.5, -2.5, 1e16, 123456789012345678, 0.1, 1/3, 1e-5, -7, 1e300, 0.0625, 2^53 }) do
      for _, f in ipairs({ '%.0f', '%.1f', '%.3f', '%.17g', '%.14g', '%d', '%g' }) do
        if f ~= '%d' or (n % 1 == 0 and n < 1e15) then out[#out + 1] = string.format(f, n) end
      end
      out[#out + 1] = '' .. n
    end
    return out`,
  'numbers and operators': `
    return { tostring(7 % -3), tostring(-7 % 3), tostring(5.5 % 2), 2 ^ 10, '10' + 5, 10 / 4 * 100, -2 ^ 2, 'a' .. 1 .. 2,
      math.floor(-1.5), math.ceil(1.2), math.max(1, 5, 3), tostring(1/0), tostring(-1/0), tonumber('0x10'), tonumber(' 5 '),
      tostring(tonumber('5x')), tostring(tonumber('')), 1 < 2 and 'lt' or 'ge', 'a' < 'b' and 'lt' or 'ge' }`,
  patterns: `
    local out = {}
    local function add(...) for i = 1, select('#', ...) do out[#out + 1] = tostring((select(i, ...))) end end
    add(string.match('key=value', '^(%w+)=(%w*)$'))
    add(string.match('  x', '^%s*(.-)%s*$'))
    add(string.find('a.b.c', '.', 1, true))
    add(string.find('a.b', '%.', -2))
    add(string.gsub('hello world', 'o', '0', 1))
    add(string.gsub('abc', '%w', '%0%0'))
    add(string.gsub('abc', '', '-'))
    add(string.gsub('a-b', '[%a-]', function(c) if c == '-' then return '+' end end))
    add(string.gsub('x=1,y=2', '(%w)=(%w)', '%2=%1'))
    add(string.match('a\\0b', '%z'))
    add(string.match('[x]', '%[(.-)%]'))
    add(string.match('2026-11-28', '(%d+)-(%d+)-(%d+)'))
    add(string.rep('ab', 3), string.reverse('abc'), string.upper('aé'), string.lower('ÀB'), #'é')
    add(string.byte('abc', 1, -1)) add(string.char(65, 0, 255)) add(string.sub('hello', -3, -2))
    add(string.sub('hello', 2), string.sub('hello', 0), string.sub('hello', 4, 2), string.format('%5s|%-5s|%05d|%x', 'a', 'b', 42, 255))
    return out`,
  'tables and sorting': `
    local t = { 5, 3, 8, 1 }
    table.sort(t, function(a, b) return a > b end)
    table.insert(t, 9) table.insert(t, 1, 0) local last = table.remove(t) local first = table.remove(t, 1)
    local words = { 'b', 'a', 'B', '' } table.sort(words)
    return { table.concat(t, ','), table.concat(words, '|'), last, first, next({}) == nil and 1 or 0, (unpack({ 4, 5 }, 2)), table.concat({ 1, 2, 3 }, '-', 2, 3) }`,
  struct: `
    local packed = struct.pack('>dHBIc0', 1.5, 65535, 7, 4000000000, 'tail')
    local a, b, c, d, at = struct.unpack('>dHBI', packed)
    local hex = string.gsub(packed .. struct.pack('<hI8c3', -2, 2^40, 'abcdef') .. struct.pack('>f', 0.1), '.', function(ch) return string.format('%02x', string.byte(ch)) end)
    return { tostring(a), b, c, d, at, hex, select(1, struct.unpack('>Hc0', struct.pack('>Hc0', 3, 'xyz'))) }`,
  cmsgpack: `
    local packed = cmsgpack.pack(1, 127, 128, 65536, -1, -33, -40000, 2^40, 1.5, 0.1, 'text', true, false, nil)
    local hex = string.gsub(packed, '.', function(ch) return string.format('%02x', string.byte(ch)) end)
    local a, b, c, d = cmsgpack.unpack(packed)
    return { hex, a, b, c, d }`,
  'errors and pcall': `
    local ok = pcall(function() return redis.call('hget', KEYS[1], 'a') end)
    local reply = redis.pcall('incr', KEYS[1])
    return { ok and 1 or 0, type(reply), redis.error_reply('MINE text'), { ok = 'FINE' }, true, false, 1.9, { 1, nil, 3 } }`,
};

function shown(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return value.toString('latin1');
  if (value instanceof Error) return value.message.split(' ')[0];
  return Array.isArray(value) ? value.map(shown) : value;
}

async function both(source: string): Promise<[emulated: unknown, real: unknown]> {
  const redis = connect();
  const memory = new MemoryRedis({ clock: 'system' });
  const key = '{lua}text';
  return Promise.all(
    [memory, redis].map(async (client: RedisClient) => {
      await client.call('set', [key, 'text']);
      const reply = client.callBuffer('eval', [`#!lua\n${source}`, 1, key]);
      return shown(await reply.catch((error: unknown) => error));
    }),
  ) as Promise<[unknown, unknown]>;
}

describe('a script replies as in Redis', () => {
  test.each(Object.entries(PIECES))('%s', async (_, source) => {
    const [emulated, real] = await both(source);
    expect(emulated).toEqual(real);
    expect(JSON.stringify(real)).not.toBe('"ERR"');
  });

  test('any number as a text, and any text as a number', async () => {
    const numbers = fc.array(fc.oneof(fc.double({ noNaN: true }), fc.integer(), fc.float({ noNaN: true })), {
      minLength: 20,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(numbers, async (list) => {
        const texts = list.map((value) => (Number.isFinite(value) ? `'${value}'` : `'inf'`)).join(', ');
        const [emulated, real] = await both(`local out = {}
          for _, text in ipairs({ ${texts} }) do
            local n = tonumber(text)
            for _, f in ipairs({ '%.17g', '%.14g', '%.0f', '%.3f', '%.1f' }) do out[#out + 1] = string.format(f, n) end
            out[#out + 1] = struct.pack('>d', n)
          end
          return out`);
        expect(emulated).toEqual(real);
      }),
      { numRuns: 40 },
    );
  });
});

describe('is refused by name', () => {
  test.each([
    ['return cjson.encode({})', /nonexistent global variable 'cjson'/],
    ["return string.dump('')", /string\.dump is not emulated/],
    ['x = 1', /nonexistent global variable 'x'/],
    ["return redis.call('geoadd', 'k', 1, 1, 'a')", /'geoadd' is not emulated/],
  ])('%s', async (source, refusal) => {
    const memory = new MemoryRedis({ clock: 'system' });
    await expect(memory.call('eval', [source, 0])).rejects.toThrow(refusal);
  });

  test('a write of a script without writes', async () => {
    const memory = new MemoryRedis({ clock: 'system' });
    const source = "#!lua flags=no-writes\nreturn redis.call('set', KEYS[1], 1)";
    await expect(memory.call('eval', [source, 1, 'k'])).rejects.toThrow(
      /^ERR Write commands are not allowed/,
    );
    expect(await memory.call('exists', ['k'])).toBe(0);
  });
});
