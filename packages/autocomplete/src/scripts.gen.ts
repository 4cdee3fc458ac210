// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const recentContactsApply = new Script({
  name: "recent-contacts.apply",
  isReadOnly: false,
  keys: ["recent"],
  args: ["capacity","idleMs"],
  restArg: "changes",
  source: "#!lua\n" +
    "-- Puts contacts in front of a user's list or takes them out, one after the other, and cuts the list to its capacity.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   recent      LIST of entries, the last touched first; until it is empty or idle\n" +
    "-- ARGV\n" +
    "--   capacity    the most entries that stay\n" +
    "--   idleMs      ms until a list that nobody changes goes away\n" +
    "--   changes...  one for each change: '+' (touch) or '-' (remove), then the entry\n" +
    "-- RETURNS\n" +
    "--   one integer for each change: 1 if the entry was in the list, else 0\n" +
    "local recent = KEYS[1]\n" +
    "local capacity, idleMs = tonumber(ARGV[1]), ARGV[2]\n" +
    "\n" +
    "local found = {}\n" +
    "for index = 3, #ARGV do\n" +
    "  local sign, entry = ARGV[index]:sub(1, 1), ARGV[index]:sub(2)\n" +
    "  found[#found + 1] = redis.call('LREM', recent, 1, entry)\n" +
    "  if sign == '+' then\n" +
    "    redis.call('LPUSH', recent, entry)\n" +
    "  end\n" +
    "end\n" +
    "redis.call('LTRIM', recent, 0, capacity - 1)\n" +
    "redis.call('PEXPIRE', recent, idleMs)\n" +
    "return found\n",
} as const);

export const recentContactsComplete = new Script({
  name: "recent-contacts.complete",
  isReadOnly: true,
  keys: ["recent"],
  args: ["prefix","limit"],
  source: "#!lua flags=no-writes\n" +
    "-- Finds the contacts whose normalized form begins with a prefix.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   recent     LIST of entries, the last touched first; until it is empty or idle\n" +
    "-- ARGV\n" +
    "--   prefix     normalized text; empty: every contact matches\n" +
    "--   limit      the most contacts to return\n" +
    "-- RETURNS\n" +
    "--   the contacts in their display form, the last touched first\n" +
    "local recent = KEYS[1]\n" +
    "local prefix, limit = ARGV[1], tonumber(ARGV[2])\n" +
    "\n" +
    "local sub, find, length = string.sub, string.find, #prefix\n" +
    "local matches = {}\n" +
    "local entries = redis.call('LRANGE', recent, 0, -1)\n" +
    "for index = 1, #entries do\n" +
    "  local entry = entries[index]\n" +
    "  if sub(entry, 1, length) == prefix then\n" +
    "    local separator = find(entry, '\\0', 1, true)\n" +
    "    matches[#matches + 1] = separator and sub(entry, separator + 1) or entry\n" +
    "    if #matches == limit then\n" +
    "      break\n" +
    "    end\n" +
    "  end\n" +
    "end\n" +
    "return matches\n",
} as const);
