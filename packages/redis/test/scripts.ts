import { Script } from '../src/index.js';

/** Scripts for the tests, made by hand: `.lua` files would be shipped. */

/** Sets fields of a hash to one value; replies with the old ones. */
export const swap = new Script({
  name: 'test.swap',
  isReadOnly: false,
  keys: ['target'],
  args: ['value'],
  restArg: 'fields',
  source: `#!lua
local target = KEYS[1]
local value = ARGV[1]
local old = {}
for i = 2, #ARGV do
  old[#old + 1] = redis.call('HGET', target, ARGV[i])
  redis.call('HSET', target, ARGV[i], value)
end
return old
`,
} as const);

/** Replies with its keys and arguments. */
export const echo = new Script({
  name: 'test.echo',
  isReadOnly: true,
  keys: ['first', 'second'],
  args: ['third', 'fourth'],
  restKey: 'moreKeys',
  restArg: 'moreArgs',
  source: `#!lua flags=no-writes
local all = { #KEYS, #ARGV }
for i = 1, #KEYS do all[#all + 1] = KEYS[i] end
for i = 1, #ARGV do all[#all + 1] = ARGV[i] end
return all
`,
} as const);

/** Counts keys and arguments. */
export const count = new Script({
  name: 'test.count',
  isReadOnly: true,
  keys: [],
  args: [],
  restKey: 'tags',
  restArg: 'values',
  source: '#!lua flags=no-writes\nreturn { #KEYS, #ARGV, KEYS[#KEYS], ARGV[#ARGV] }\n',
} as const);

/** Says that it only reads, and writes. */
export const liar = new Script({
  name: 'test.liar',
  isReadOnly: true,
  keys: ['target'],
  args: [],
  source: "#!lua flags=no-writes\nredis.call('SET', KEYS[1], 'written')\n",
} as const);

/** Touches a key that it doesn't declare. */
export const trespasser = new Script({
  name: 'test.trespasser',
  isReadOnly: false,
  keys: ['target'],
  args: ['undeclared'],
  source: "#!lua\nreturn redis.call('GET', ARGV[1])\n",
} as const);

/** Fails after its first write. */
export const failing = new Script({
  name: 'test.failing',
  isReadOnly: false,
  keys: ['target'],
  args: [],
  source: "#!lua\nreturn redis.call('LPUSH', KEYS[1], 'x')\n",
} as const);

/** Wakes the waiters of a channel. */
export const publish = new Script({
  name: 'test.publish',
  isReadOnly: false,
  keys: ['entity'],
  args: ['command', 'channel', 'message'],
  source: '#!lua\nreturn redis.call(ARGV[1], ARGV[2], ARGV[3])\n',
} as const);
