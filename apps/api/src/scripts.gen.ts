// Made from the .lua files of this folder by `npm run scripts`. Edit those.
import { Script } from '@mortise/redis';

export const aggregatesTop = new Script({
  name: "aggregates.top",
  isReadOnly: true,
  keys: ["counts","total"],
  args: ["limit"],
  source: "#!lua flags=no-writes\n" +
    "-- Reads the most frequent members of an aggregate of a day.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   counts       ZSET member -> lines\n" +
    "--   total        STRING lines of the day\n" +
    "-- ARGV\n" +
    "--   limit        members at most\n" +
    "-- RETURNS\n" +
    "--   {lines of the day or nil, number of members, {member, lines, …}}, the most frequent first; those of equal counts by their\n" +
    "--   bytes, the last one first\n" +
    "local counts = KEYS[1]\n" +
    "local total = KEYS[2]\n" +
    "local limit = tonumber(ARGV[1])\n" +
    "\n" +
    "return {\n" +
    "  redis.call('GET', total),\n" +
    "  redis.call('ZCARD', counts),\n" +
    "  redis.call('ZRANGE', counts, 0, limit - 1, 'REV', 'WITHSCORES'),\n" +
    "}\n",
} as const);

export const marketExpire = new Script({
  name: "market.expire",
  isReadOnly: false,
  keys: ["owners","inventory","listed","listings","newest","prices","expired"],
  args: ["listingId","listedAt"],
  source: "#!lua\n" +
    "-- Takes a listing back whose time is over, and keeps it among the expired ones until its seller's mail is enqueued. Doing it\n" +
    "-- again tells of the same listing until then.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   owners       HASH itemId -> playerId; until listed\n" +
    "--   inventory    ZSET of 'playerId itemId'; as owners\n" +
    "--   listed       HASH itemId -> listingId; until withdrawn or sold\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,\n" +
    "--                sold or expired\n" +
    "--   newest       ZSET of 'listedAt listingId', from when it opens; as listings\n" +
    "--   prices       ZSET of 'price listingId', from when it opens; as listings\n" +
    "--   expired      HASH 'listedAt listingId' -> listing; until the seller's mail is enqueued\n" +
    "-- ARGV\n" +
    "--   listingId\n" +
    "--   listedAt     13 digits: under the same id there may be another listing by now\n" +
    "-- RETURNS\n" +
    "--   {'expired', listing}, {'gone'}, or {'early', ms until it expires}\n" +
    "local owners = KEYS[1]\n" +
    "local inventory = KEYS[2]\n" +
    "local listed = KEYS[3]\n" +
    "local listings = KEYS[4]\n" +
    "local newest = KEYS[5]\n" +
    "local prices = KEYS[6]\n" +
    "local expired = KEYS[7]\n" +
    "local listingId = ARGV[1]\n" +
    "local listedAt = ARGV[2]\n" +
    "\n" +
    "-- Takes listings apart, for scripts that have them.\n" +
    "\n" +
    "-- itemId, sellerId, price and listedAt as they stand there; opensAt and expiresAt as numbers, 0 and math.huge for none.\n" +
    "local function readListing(listing)\n" +
    "  local itemId, sellerId, price, listedAt, opens, term =\n" +
    "    string.match(listing, '^(%S+) (%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')\n" +
    "  local opensAt, expiresInMs = tonumber(opens) or 0, tonumber(term) or 0\n" +
    "  local expiresAt = expiresInMs > 0 and math.max(tonumber(listedAt), opensAt) + expiresInMs or math.huge\n" +
    "  return itemId, sellerId, price, listedAt, opensAt, expiresAt\n" +
    "end\n" +
    "\n" +
    "-- The members of newest and prices that a listing has once it is open.\n" +
    "local function membersOf(listingId, listing)\n" +
    "  local _, _, price, listedAt, opensAt = readListing(listing)\n" +
    "  local shownAt = math.max(tonumber(listedAt), opensAt)\n" +
    "  return string.format('%013.0f', shownAt) .. ' ' .. listingId, string.format('%013.0f', price) .. ' ' .. listingId\n" +
    "end\n" +
    "-- Gives the item of a listing back to its seller, for scripts that have checked that it may be. It expects the locals owners,\n" +
    "-- inventory, listed, listings, newest and prices, and market.terms.part.lua before it.\n" +
    "local function takeBack(listingId, listing)\n" +
    "  local itemId, sellerId = readListing(listing)\n" +
    "  local newestMember, pricesMember = membersOf(listingId, listing)\n" +
    "  redis.call('HDEL', listings, listingId)\n" +
    "  redis.call('HDEL', listed, itemId)\n" +
    "  redis.call('ZREM', newest, newestMember)\n" +
    "  redis.call('ZREM', prices, pricesMember)\n" +
    "  redis.call('HSET', owners, itemId, sellerId)\n" +
    "  redis.call('ZADD', inventory, 0, sellerId .. ' ' .. itemId)\n" +
    "end\n" +
    "\n" +
    "local place = listedAt .. ' ' .. listingId\n" +
    "local listing = redis.call('HGET', listings, listingId)\n" +
    "local itsListedAt, expiresAt, _\n" +
    "if listing then\n" +
    "  _, _, _, itsListedAt, _, expiresAt = readListing(listing)\n" +
    "end\n" +
    "if itsListedAt ~= listedAt then\n" +
    "  local before = redis.call('HGET', expired, place)\n" +
    "  return before and { 'expired', before } or { 'gone' }\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "if expiresAt == math.huge then\n" +
    "  return { 'gone' }\n" +
    "elseif now < expiresAt then\n" +
    "  return { 'early', string.format('%.0f', expiresAt - now) }\n" +
    "end\n" +
    "takeBack(listingId, listing)\n" +
    "redis.call('HSET', expired, place, listing)\n" +
    "return { 'expired', listing }\n",
} as const);

export const marketGiveItem = new Script({
  name: "market.give-item",
  isReadOnly: false,
  keys: ["players","owners","inventory","listed"],
  args: ["playerId","itemId","maxItems"],
  source: "#!lua\n" +
    "-- Puts a new item into a player's inventory.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   players      HASH playerId -> profile; for good\n" +
    "--   owners       HASH itemId -> playerId; until listed\n" +
    "--   inventory    ZSET of 'playerId itemId'; as owners\n" +
    "--   listed       HASH itemId -> listingId; until withdrawn or sold\n" +
    "-- ARGV\n" +
    "--   playerId\n" +
    "--   itemId\n" +
    "--   maxItems\n" +
    "-- RETURNS\n" +
    "--   'given', 'kept' (the player has it already), 'unknown-player', 'item-taken' or 'market-full'\n" +
    "local players = KEYS[1]\n" +
    "local owners = KEYS[2]\n" +
    "local inventory = KEYS[3]\n" +
    "local listed = KEYS[4]\n" +
    "local playerId = ARGV[1]\n" +
    "local itemId = ARGV[2]\n" +
    "local maxItems = tonumber(ARGV[3])\n" +
    "\n" +
    "if redis.call('HEXISTS', players, playerId) == 0 then\n" +
    "  return 'unknown-player'\n" +
    "end\n" +
    "local owner = redis.call('HGET', owners, itemId)\n" +
    "if owner == playerId then\n" +
    "  return 'kept'\n" +
    "end\n" +
    "if owner or redis.call('HEXISTS', listed, itemId) == 1 then\n" +
    "  return 'item-taken'\n" +
    "end\n" +
    "if redis.call('HLEN', owners) + redis.call('HLEN', listed) >= maxItems then\n" +
    "  return 'market-full'\n" +
    "end\n" +
    "redis.call('HSET', owners, itemId, playerId)\n" +
    "redis.call('ZADD', inventory, 0, playerId .. ' ' .. itemId)\n" +
    "return 'given'\n",
} as const);

export const marketList = new Script({
  name: "market.list",
  isReadOnly: false,
  keys: ["players","owners","inventory","listed","listings","newest","prices","sold","timers"],
  args: [],
  restArg: "offers",
  source: "#!lua\n" +
    "-- Offers items at a price: each leaves its seller's inventory and becomes a listing. A listing that is there already,\n" +
    "-- with the same content, is a repeated request and changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   players      HASH playerId -> profile; for good\n" +
    "--   owners       HASH itemId -> playerId; until listed\n" +
    "--   inventory    ZSET of 'playerId itemId'; as owners\n" +
    "--   listed       HASH itemId -> listingId; until withdrawn or sold\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,\n" +
    "--                sold or expired\n" +
    "--   newest       ZSET of 'listedAt listingId', from when it opens; as listings\n" +
    "--   prices       ZSET of 'price listingId', from when it opens; as listings\n" +
    "--   sold         HASH listingId -> saleId; as long as the sale is kept\n" +
    "--   timers       ZSET of 'listedAt listingId'; until its tasks are enqueued\n" +
    "-- ARGV\n" +
    "--   offers...    listingId, sellerId, itemId, price (coins), opensAt (ms; 0: at once), expiresInMs (0: never) of each\n" +
    "-- RETURNS\n" +
    "--   for each offer {'listed' | 'repeated', listing}, {'item-listed', listingId}, or one of {'request-reused'},\n" +
    "--   {'already-sold'}, {'unknown-player'}, {'unknown-item'}, {'not-owner'}\n" +
    "local players = KEYS[1]\n" +
    "local owners = KEYS[2]\n" +
    "local inventory = KEYS[3]\n" +
    "local listed = KEYS[4]\n" +
    "local listings = KEYS[5]\n" +
    "local newest = KEYS[6]\n" +
    "local prices = KEYS[7]\n" +
    "local sold = KEYS[8]\n" +
    "local timers = KEYS[9]\n" +
    "\n" +
    "-- Takes listings apart, for scripts that have them.\n" +
    "\n" +
    "-- itemId, sellerId, price and listedAt as they stand there; opensAt and expiresAt as numbers, 0 and math.huge for none.\n" +
    "local function readListing(listing)\n" +
    "  local itemId, sellerId, price, listedAt, opens, term =\n" +
    "    string.match(listing, '^(%S+) (%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')\n" +
    "  local opensAt, expiresInMs = tonumber(opens) or 0, tonumber(term) or 0\n" +
    "  local expiresAt = expiresInMs > 0 and math.max(tonumber(listedAt), opensAt) + expiresInMs or math.huge\n" +
    "  return itemId, sellerId, price, listedAt, opensAt, expiresAt\n" +
    "end\n" +
    "\n" +
    "-- The members of newest and prices that a listing has once it is open.\n" +
    "local function membersOf(listingId, listing)\n" +
    "  local _, _, price, listedAt, opensAt = readListing(listing)\n" +
    "  local shownAt = math.max(tonumber(listedAt), opensAt)\n" +
    "  return string.format('%013.0f', shownAt) .. ' ' .. listingId, string.format('%013.0f', price) .. ' ' .. listingId\n" +
    "end\n" +
    "-- Makes a listing of an item, for scripts that have checked that it may be made. It expects the locals owners, inventory,\n" +
    "-- listed, listings, newest, prices and timers, and market.terms.part.lua before it.\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local listedAt = string.format('%013.0f', now)\n" +
    "\n" +
    "-- One that opens later is in no index until then. One that opens or expires by itself stands in timers until its tasks are\n" +
    "-- enqueued.\n" +
    "local function putUp(listingId, sellerId, itemId, price, opensAt, expiresInMs)\n" +
    "  local listing = table.concat({ itemId, sellerId, price, listedAt }, ' ')\n" +
    "  if opensAt ~= '0' or expiresInMs ~= '0' then\n" +
    "    listing = table.concat({ listing, opensAt, expiresInMs }, ' ')\n" +
    "    redis.call('ZADD', timers, 0, listedAt .. ' ' .. listingId)\n" +
    "  end\n" +
    "  redis.call('HDEL', owners, itemId)\n" +
    "  redis.call('ZREM', inventory, sellerId .. ' ' .. itemId)\n" +
    "  redis.call('HSET', listed, itemId, listingId)\n" +
    "  redis.call('HSET', listings, listingId, listing)\n" +
    "  if tonumber(opensAt) <= now then\n" +
    "    local newestMember, pricesMember = membersOf(listingId, listing)\n" +
    "    redis.call('ZADD', newest, 0, newestMember)\n" +
    "    redis.call('ZADD', prices, 0, pricesMember)\n" +
    "  end\n" +
    "  return listing\n" +
    "end\n" +
    "\n" +
    "local function offer(listingId, sellerId, itemId, price, opensAt, expiresInMs)\n" +
    "  local content = itemId .. ' ' .. sellerId .. ' ' .. price .. ' '\n" +
    "  local present = redis.call('HGET', listings, listingId)\n" +
    "  if present then\n" +
    "    local given = opensAt == '0' and expiresInMs == '0' and '' or ' ' .. opensAt .. ' ' .. expiresInMs\n" +
    "    local isSame = string.sub(present, 1, #content) == content\n" +
    "      and string.match(present, '^%S+ %S+ %S+ %S+(.*)$') == given\n" +
    "    return isSame and { 'repeated', present } or { 'request-reused' }\n" +
    "  end\n" +
    "  if redis.call('HEXISTS', sold, listingId) == 1 then\n" +
    "    return { 'already-sold' }\n" +
    "  end\n" +
    "  if redis.call('HEXISTS', players, sellerId) == 0 then\n" +
    "    return { 'unknown-player' }\n" +
    "  end\n" +
    "  local owner = redis.call('HGET', owners, itemId)\n" +
    "  if not owner then\n" +
    "    local other = redis.call('HGET', listed, itemId)\n" +
    "    return other and { 'item-listed', other } or { 'unknown-item' }\n" +
    "  end\n" +
    "  if owner ~= sellerId then\n" +
    "    return { 'not-owner' }\n" +
    "  end\n" +
    "  return { 'listed', putUp(listingId, sellerId, itemId, price, opensAt, expiresInMs) }\n" +
    "end\n" +
    "\n" +
    "local replies = {}\n" +
    "for i = 1, #ARGV, 6 do\n" +
    "  replies[#replies + 1] = offer(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])\n" +
    "end\n" +
    "return replies\n",
} as const);

export const marketListings = new Script({
  name: "market.listings",
  isReadOnly: true,
  keys: ["index","listings"],
  args: ["first","last","isReversed","limit"],
  source: "#!lua flags=no-writes\n" +
    "-- Reads a page of listings in the order of an index.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   index        ZSET of '<13 digits> listingId', all scores 0\n" +
    "--   listings     HASH listingId -> listing\n" +
    "-- ARGV\n" +
    "--   first        bound of ZRANGE BYLEX\n" +
    "--   last         bound of ZRANGE BYLEX\n" +
    "--   isReversed   '1': from the highest member down\n" +
    "--   limit\n" +
    "-- RETURNS\n" +
    "--   {members, their listings}\n" +
    "local index = KEYS[1]\n" +
    "local listings = KEYS[2]\n" +
    "local first = ARGV[1]\n" +
    "local last = ARGV[2]\n" +
    "local isReversed = ARGV[3]\n" +
    "local limit = ARGV[4]\n" +
    "\n" +
    "local members\n" +
    "if isReversed == '1' then\n" +
    "  members = redis.call('ZRANGE', index, first, last, 'BYLEX', 'REV', 'LIMIT', 0, limit)\n" +
    "else\n" +
    "  members = redis.call('ZRANGE', index, first, last, 'BYLEX', 'LIMIT', 0, limit)\n" +
    "end\n" +
    "local found = {}\n" +
    "for i, member in ipairs(members) do\n" +
    "  found[i] = redis.call('HGET', listings, string.sub(member, 15))\n" +
    "end\n" +
    "return { members, found }\n",
} as const);

export const marketOffer = new Script({
  name: "market.offer",
  isReadOnly: true,
  keys: ["players","owners","listed","listings","sold"],
  args: ["listingId","sellerId","itemId"],
  source: "#!lua flags=no-writes\n" +
    "-- Reads what an offer is decided by.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   players      HASH playerId -> profile\n" +
    "--   owners       HASH itemId -> playerId\n" +
    "--   listed       HASH itemId -> listingId\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'\n" +
    "--   sold         HASH listingId -> saleId\n" +
    "-- ARGV\n" +
    "--   listingId\n" +
    "--   sellerId\n" +
    "--   itemId\n" +
    "-- RETURNS\n" +
    "--   {listing, 1 if it was sold, 1 if the seller exists, the item's owner, the listing that the item is in}; nil for what\n" +
    "--   isn't there\n" +
    "local players = KEYS[1]\n" +
    "local owners = KEYS[2]\n" +
    "local listed = KEYS[3]\n" +
    "local listings = KEYS[4]\n" +
    "local sold = KEYS[5]\n" +
    "local listingId = ARGV[1]\n" +
    "local sellerId = ARGV[2]\n" +
    "local itemId = ARGV[3]\n" +
    "\n" +
    "return {\n" +
    "  redis.call('HGET', listings, listingId),\n" +
    "  redis.call('HEXISTS', sold, listingId),\n" +
    "  redis.call('HEXISTS', players, sellerId),\n" +
    "  redis.call('HGET', owners, itemId),\n" +
    "  redis.call('HGET', listed, itemId),\n" +
    "}\n",
} as const);

export const marketOpen = new Script({
  name: "market.open",
  isReadOnly: false,
  keys: ["listings","newest","prices"],
  args: ["listingId","listedAt"],
  source: "#!lua\n" +
    "-- Shows a listing, once its time has come. Doing it again changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,\n" +
    "--                sold or expired\n" +
    "--   newest       ZSET of 'listedAt listingId', from when it opens; as listings\n" +
    "--   prices       ZSET of 'price listingId', from when it opens; as listings\n" +
    "-- ARGV\n" +
    "--   listingId\n" +
    "--   listedAt     13 digits: under the same id there may be another listing by now\n" +
    "-- RETURNS\n" +
    "--   {'opened'}, {'gone'}, or {'early', ms until it opens}\n" +
    "local listings = KEYS[1]\n" +
    "local newest = KEYS[2]\n" +
    "local prices = KEYS[3]\n" +
    "local listingId = ARGV[1]\n" +
    "local listedAt = ARGV[2]\n" +
    "\n" +
    "-- Takes listings apart, for scripts that have them.\n" +
    "\n" +
    "-- itemId, sellerId, price and listedAt as they stand there; opensAt and expiresAt as numbers, 0 and math.huge for none.\n" +
    "local function readListing(listing)\n" +
    "  local itemId, sellerId, price, listedAt, opens, term =\n" +
    "    string.match(listing, '^(%S+) (%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')\n" +
    "  local opensAt, expiresInMs = tonumber(opens) or 0, tonumber(term) or 0\n" +
    "  local expiresAt = expiresInMs > 0 and math.max(tonumber(listedAt), opensAt) + expiresInMs or math.huge\n" +
    "  return itemId, sellerId, price, listedAt, opensAt, expiresAt\n" +
    "end\n" +
    "\n" +
    "-- The members of newest and prices that a listing has once it is open.\n" +
    "local function membersOf(listingId, listing)\n" +
    "  local _, _, price, listedAt, opensAt = readListing(listing)\n" +
    "  local shownAt = math.max(tonumber(listedAt), opensAt)\n" +
    "  return string.format('%013.0f', shownAt) .. ' ' .. listingId, string.format('%013.0f', price) .. ' ' .. listingId\n" +
    "end\n" +
    "\n" +
    "local listing = redis.call('HGET', listings, listingId)\n" +
    "if not listing then\n" +
    "  return { 'gone' }\n" +
    "end\n" +
    "local _, _, _, itsListedAt, opensAt = readListing(listing)\n" +
    "if itsListedAt ~= listedAt then\n" +
    "  return { 'gone' }\n" +
    "end\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "if now < opensAt then\n" +
    "  return { 'early', string.format('%.0f', opensAt - now) }\n" +
    "end\n" +
    "local newestMember, pricesMember = membersOf(listingId, listing)\n" +
    "redis.call('ZADD', newest, 0, newestMember)\n" +
    "redis.call('ZADD', prices, 0, pricesMember)\n" +
    "return { 'opened' }\n",
} as const);

export const marketOrder = new Script({
  name: "market.order",
  isReadOnly: true,
  keys: ["funds","listings","sales","saleOrder","sold","requests","outbox"],
  args: ["maxSales","listingId","buyerId","requestKey"],
  source: "#!lua flags=no-writes\n" +
    "-- Reads what the purchase of a listing is decided by.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   funds        HASH playerId -> coins\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'\n" +
    "--   sales        HASH saleId -> sale\n" +
    "--   saleOrder    LIST of saleIds, oldest first\n" +
    "--   sold         HASH listingId -> saleId\n" +
    "--   requests     HASH requestKey -> saleId\n" +
    "--   outbox       ZSET soldAt -> saleId\n" +
    "-- ARGV\n" +
    "--   maxSales\n" +
    "--   listingId\n" +
    "--   buyerId\n" +
    "--   requestKey   '': none\n" +
    "-- RETURNS\n" +
    "--   {listing, 1 if it was sold, the buyer's coins, the seller's coins, saleId and sale that the request key led to,\n" +
    "--   1 if the oldest receipt has to go and its mail is not enqueued, the server's time in ms}; nil for what isn't there\n" +
    "local funds = KEYS[1]\n" +
    "local listings = KEYS[2]\n" +
    "local sales = KEYS[3]\n" +
    "local saleOrder = KEYS[4]\n" +
    "local sold = KEYS[5]\n" +
    "local requests = KEYS[6]\n" +
    "local outbox = KEYS[7]\n" +
    "local maxSales = tonumber(ARGV[1])\n" +
    "local listingId = ARGV[2]\n" +
    "local buyerId = ARGV[3]\n" +
    "local requestKey = ARGV[4]\n" +
    "\n" +
    "local listing = redis.call('HGET', listings, listingId)\n" +
    "local sellerId = listing and string.match(listing, '^%S+ (%S+)')\n" +
    "local earlierId = requestKey ~= '' and redis.call('HGET', requests, requestKey)\n" +
    "local time = redis.call('TIME')\n" +
    "local oldest = redis.call('LLEN', saleOrder) >= maxSales and redis.call('LINDEX', saleOrder, 0)\n" +
    "return {\n" +
    "  listing,\n" +
    "  redis.call('HEXISTS', sold, listingId),\n" +
    "  redis.call('HGET', funds, buyerId),\n" +
    "  sellerId and redis.call('HGET', funds, sellerId),\n" +
    "  earlierId,\n" +
    "  earlierId and redis.call('HGET', sales, earlierId),\n" +
    "  oldest and redis.call('ZSCORE', outbox, oldest) and 1 or 0,\n" +
    "  time[1] * 1000 + math.floor(time[2] / 1000),\n" +
    "}\n",
} as const);

export const marketOutbox = new Script({
  name: "market.outbox",
  isReadOnly: true,
  keys: ["outbox","sales"],
  args: ["limit"],
  source: "#!lua flags=no-writes\n" +
    "-- Reads the oldest sales whose mail is not enqueued yet.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   outbox       ZSET soldAt -> saleId\n" +
    "--   sales        HASH saleId -> sale\n" +
    "-- ARGV\n" +
    "--   limit\n" +
    "-- RETURNS\n" +
    "--   {saleIds, their sales}\n" +
    "local outbox = KEYS[1]\n" +
    "local sales = KEYS[2]\n" +
    "local limit = tonumber(ARGV[1])\n" +
    "\n" +
    "local saleIds = redis.call('ZRANGE', outbox, 0, limit - 1)\n" +
    "local found = {}\n" +
    "for i, saleId in ipairs(saleIds) do\n" +
    "  found[i] = redis.call('HGET', sales, saleId)\n" +
    "end\n" +
    "return { saleIds, found }\n",
} as const);

export const marketPlayer = new Script({
  name: "market.player",
  isReadOnly: true,
  keys: ["players","funds"],
  args: ["playerId"],
  source: "#!lua flags=no-writes\n" +
    "-- Reads a player.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   players      HASH playerId -> profile\n" +
    "--   funds        HASH playerId -> coins\n" +
    "-- ARGV\n" +
    "--   playerId\n" +
    "-- RETURNS\n" +
    "--   {profile, coins}, both nil when there is no such player\n" +
    "local players = KEYS[1]\n" +
    "local funds = KEYS[2]\n" +
    "local playerId = ARGV[1]\n" +
    "\n" +
    "return { redis.call('HGET', players, playerId), redis.call('HGET', funds, playerId) }\n",
} as const);

export const marketPurchase = new Script({
  name: "market.purchase",
  isReadOnly: false,
  keys: ["funds","owners","inventory","listed","listings","newest","prices","sales","saleOrder","sold","requests","outbox"],
  args: ["maxCoins","maxSales"],
  restArg: "orders",
  source: "#!lua\n" +
    "-- Sells listings: the buyer's coins go to the seller, the item to the buyer's inventory, the listing away, and the sale\n" +
    "-- into the outbox until the seller's mail is enqueued. Purchases of one call happen one after the other, each wholly\n" +
    "-- or not at all. A purchase under an id or request key that led to a sale before gets that sale and changes nothing.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   funds        HASH playerId -> coins; for good\n" +
    "--   owners       HASH itemId -> playerId; until listed\n" +
    "--   inventory    ZSET of 'playerId itemId'; as owners\n" +
    "--   listed       HASH itemId -> listingId; until withdrawn or sold\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,\n" +
    "--                sold or expired\n" +
    "--   newest       ZSET of 'listedAt listingId', from when it opens; as listings\n" +
    "--   prices       ZSET of 'price listingId', from when it opens; as listings\n" +
    "--   sales        HASH saleId -> 'listingId itemId sellerId buyerId price soldAt requestKey'; the newest maxSales\n" +
    "--   saleOrder    LIST of saleIds, oldest first; as sales\n" +
    "--   sold         HASH listingId -> saleId; as sales\n" +
    "--   requests     HASH requestKey -> saleId; as sales\n" +
    "--   outbox       ZSET soldAt -> saleId; until the mail is enqueued\n" +
    "-- ARGV\n" +
    "--   maxCoins     the most that a player may have\n" +
    "--   maxSales\n" +
    "--   orders...    saleId, listingId, buyerId, expectedPrice (coins), requestKey ('': none) of each\n" +
    "-- RETURNS\n" +
    "--   for each order {'sold' | 'repeated', saleId, sale}, {'not-open', opensAt}, {'listing-expired', expiresAt}, {'price-changed', price}, {'insufficient-funds', price, coins},\n" +
    "--   {'funds-overflow', sellerId}, or one of {'request-reused'}, {'unknown-listing'}, {'already-sold'},\n" +
    "--   {'unknown-player'}, {'own-listing'}, {'outbox-full'}\n" +
    "local funds = KEYS[1]\n" +
    "local owners = KEYS[2]\n" +
    "local inventory = KEYS[3]\n" +
    "local listed = KEYS[4]\n" +
    "local listings = KEYS[5]\n" +
    "local newest = KEYS[6]\n" +
    "local prices = KEYS[7]\n" +
    "local sales = KEYS[8]\n" +
    "local saleOrder = KEYS[9]\n" +
    "local sold = KEYS[10]\n" +
    "local requests = KEYS[11]\n" +
    "local outbox = KEYS[12]\n" +
    "local maxCoins = tonumber(ARGV[1])\n" +
    "local maxSales = tonumber(ARGV[2])\n" +
    "\n" +
    "-- Takes listings apart, for scripts that have them.\n" +
    "\n" +
    "-- itemId, sellerId, price and listedAt as they stand there; opensAt and expiresAt as numbers, 0 and math.huge for none.\n" +
    "local function readListing(listing)\n" +
    "  local itemId, sellerId, price, listedAt, opens, term =\n" +
    "    string.match(listing, '^(%S+) (%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')\n" +
    "  local opensAt, expiresInMs = tonumber(opens) or 0, tonumber(term) or 0\n" +
    "  local expiresAt = expiresInMs > 0 and math.max(tonumber(listedAt), opensAt) + expiresInMs or math.huge\n" +
    "  return itemId, sellerId, price, listedAt, opensAt, expiresAt\n" +
    "end\n" +
    "\n" +
    "-- The members of newest and prices that a listing has once it is open.\n" +
    "local function membersOf(listingId, listing)\n" +
    "  local _, _, price, listedAt, opensAt = readListing(listing)\n" +
    "  local shownAt = math.max(tonumber(listedAt), opensAt)\n" +
    "  return string.format('%013.0f', shownAt) .. ' ' .. listingId, string.format('%013.0f', price) .. ' ' .. listingId\n" +
    "end\n" +
    "-- The sale itself, for scripts that have checked that it may be made. It expects the locals funds, owners, inventory,\n" +
    "-- listed, listings, newest, prices, sales, saleOrder, sold, requests, outbox and maxSales, and market.terms.part.lua before it.\n" +
    "\n" +
    "-- More than one receipt goes only after maxSales was lowered; the bound keeps a purchase short.\n" +
    "local MAX_DROPS = 8\n" +
    "local SALE = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S*)$'\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local soldAt = string.format('%013.0f', now)\n" +
    "\n" +
    "-- The oldest receipts, whose place the next one takes.\n" +
    "local function oldestSales()\n" +
    "  local excess = math.min(redis.call('LLEN', saleOrder) - maxSales + 1, MAX_DROPS)\n" +
    "  return excess > 0 and redis.call('LRANGE', saleOrder, 0, excess - 1) or {}\n" +
    "end\n" +
    "\n" +
    "-- A receipt has to stay as long as its mail is not enqueued.\n" +
    "local function isMailPending(saleId)\n" +
    "  return saleId and redis.call('ZSCORE', outbox, saleId)\n" +
    "end\n" +
    "\n" +
    "local function drop(saleId)\n" +
    "  local listingId, _, _, _, _, _, requestKey = string.match(redis.call('HGET', sales, saleId), SALE)\n" +
    "  redis.call('LPOP', saleOrder)\n" +
    "  redis.call('HDEL', sales, saleId)\n" +
    "  redis.call('HDEL', sold, listingId)\n" +
    "  if requestKey ~= '' then\n" +
    "    redis.call('HDEL', requests, requestKey)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function sell(saleId, listingId, listing, buyerId, requestKey, oldest)\n" +
    "  local itemId, sellerId, price = readListing(listing)\n" +
    "  local newestMember, pricesMember = membersOf(listingId, listing)\n" +
    "  for _, oldId in ipairs(oldest) do\n" +
    "    if isMailPending(oldId) then\n" +
    "      break\n" +
    "    end\n" +
    "    drop(oldId)\n" +
    "  end\n" +
    "  redis.call('HINCRBY', funds, buyerId, '-' .. price)\n" +
    "  redis.call('HINCRBY', funds, sellerId, price)\n" +
    "  redis.call('HDEL', listings, listingId)\n" +
    "  redis.call('HDEL', listed, itemId)\n" +
    "  redis.call('ZREM', newest, newestMember)\n" +
    "  redis.call('ZREM', prices, pricesMember)\n" +
    "  redis.call('HSET', owners, itemId, buyerId)\n" +
    "  redis.call('ZADD', inventory, 0, buyerId .. ' ' .. itemId)\n" +
    "  local sale = table.concat({ listingId, itemId, sellerId, buyerId, price, soldAt, requestKey }, ' ')\n" +
    "  redis.call('HSET', sales, saleId, sale)\n" +
    "  redis.call('RPUSH', saleOrder, saleId)\n" +
    "  redis.call('HSET', sold, listingId, saleId)\n" +
    "  if requestKey ~= '' then\n" +
    "    redis.call('HSET', requests, requestKey, saleId)\n" +
    "  end\n" +
    "  redis.call('ZADD', outbox, soldAt, saleId)\n" +
    "  return sale\n" +
    "end\n" +
    "\n" +
    "local function buy(saleId, listingId, buyerId, expectedPrice, requestKey)\n" +
    "  local earlierId = requestKey ~= '' and redis.call('HGET', requests, requestKey) or saleId\n" +
    "  local earlier = redis.call('HGET', sales, earlierId)\n" +
    "  if earlier then\n" +
    "    local itsListing, _, _, itsBuyer, itsPrice = string.match(earlier, SALE)\n" +
    "    local isSame = itsListing == listingId and itsBuyer == buyerId and itsPrice == expectedPrice\n" +
    "    return isSame and { 'repeated', earlierId, earlier } or { 'request-reused' }\n" +
    "  end\n" +
    "  local listing = redis.call('HGET', listings, listingId)\n" +
    "  if not listing then\n" +
    "    return { redis.call('HEXISTS', sold, listingId) == 1 and 'already-sold' or 'unknown-listing' }\n" +
    "  end\n" +
    "  local _, sellerId, price, _, opensAt, expiresAt = readListing(listing)\n" +
    "  local coins = redis.call('HGET', funds, buyerId)\n" +
    "  if not coins then\n" +
    "    return { 'unknown-player' }\n" +
    "  end\n" +
    "  if sellerId == buyerId then\n" +
    "    return { 'own-listing' }\n" +
    "  end\n" +
    "  if now < opensAt then\n" +
    "    return { 'not-open', string.format('%.0f', opensAt) }\n" +
    "  end\n" +
    "  if now >= expiresAt then\n" +
    "    return { 'listing-expired', string.format('%.0f', expiresAt) }\n" +
    "  end\n" +
    "  if price ~= expectedPrice then\n" +
    "    return { 'price-changed', price }\n" +
    "  end\n" +
    "  if tonumber(coins) < tonumber(price) then\n" +
    "    return { 'insufficient-funds', price, coins }\n" +
    "  end\n" +
    "  if redis.call('HGET', funds, sellerId) + price > maxCoins then\n" +
    "    return { 'funds-overflow', sellerId }\n" +
    "  end\n" +
    "  local oldest = oldestSales()\n" +
    "  if isMailPending(oldest[1]) then\n" +
    "    return { 'outbox-full' }\n" +
    "  end\n" +
    "  return { 'sold', saleId, sell(saleId, listingId, listing, buyerId, requestKey, oldest) }\n" +
    "end\n" +
    "\n" +
    "local replies = {}\n" +
    "for i = 3, #ARGV, 5 do\n" +
    "  replies[#replies + 1] = buy(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])\n" +
    "end\n" +
    "return replies\n",
} as const);

export const marketPutPlayer = new Script({
  name: "market.put-player",
  isReadOnly: false,
  keys: ["players","funds"],
  args: ["playerId","profile","initial","maxPlayers"],
  source: "#!lua\n" +
    "-- Creates a player, or changes name and address of one that exists. Funds count at creation only.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   players      HASH playerId -> profile; for good\n" +
    "--   funds        HASH playerId -> coins; for good\n" +
    "-- ARGV\n" +
    "--   playerId\n" +
    "--   profile      opaque\n" +
    "--   initial      coins\n" +
    "--   maxPlayers\n" +
    "-- RETURNS\n" +
    "--   {'created' | 'updated', coins} or {'market-full'}\n" +
    "local players = KEYS[1]\n" +
    "local funds = KEYS[2]\n" +
    "local playerId = ARGV[1]\n" +
    "local profile = ARGV[2]\n" +
    "local initial = ARGV[3]\n" +
    "local maxPlayers = tonumber(ARGV[4])\n" +
    "\n" +
    "local coins = redis.call('HGET', funds, playerId)\n" +
    "if coins then\n" +
    "  redis.call('HSET', players, playerId, profile)\n" +
    "  return { 'updated', coins }\n" +
    "end\n" +
    "if redis.call('HLEN', players) >= maxPlayers then\n" +
    "  return { 'market-full' }\n" +
    "end\n" +
    "redis.call('HSET', players, playerId, profile)\n" +
    "redis.call('HSET', funds, playerId, initial)\n" +
    "return { 'created', initial }\n",
} as const);

export const marketSettleOffer = new Script({
  name: "market.settle-offer",
  isReadOnly: false,
  keys: ["fence","owners","inventory","listed","listings","newest","prices","sold","timers"],
  args: ["token","fenceMs","listingId","sellerId","itemId","price","opensAt","expiresInMs"],
  source: "#!lua\n" +
    "-- Writes the offer that somebody decided on under the lock of the listing; see market.settle-purchase.lua. The item may\n" +
    "-- have been offered under another id meanwhile, or sold and bought.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   fence        STRING the last fencing token that wrote this listing; fenceMs from then\n" +
    "--   owners       HASH itemId -> playerId; until listed\n" +
    "--   inventory    ZSET of 'playerId itemId'; as owners\n" +
    "--   listed       HASH itemId -> listingId; until withdrawn or sold\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,\n" +
    "--                sold or expired\n" +
    "--   newest       ZSET of 'listedAt listingId', from when it opens; as listings\n" +
    "--   prices       ZSET of 'price listingId', from when it opens; as listings\n" +
    "--   sold         HASH listingId -> saleId; as long as the sale is kept\n" +
    "--   timers       ZSET of 'listedAt listingId'; until its tasks are enqueued\n" +
    "-- ARGV\n" +
    "--   token        of the lease under which it was decided\n" +
    "--   fenceMs      ms\n" +
    "--   listingId\n" +
    "--   sellerId\n" +
    "--   itemId\n" +
    "--   price        coins\n" +
    "--   opensAt      ms; 0: at once\n" +
    "--   expiresInMs  0: never\n" +
    "-- RETURNS\n" +
    "--   {'listed', listing}, {'stale-token', the last token}, or {'changed'}: to be read and decided again\n" +
    "local fence = KEYS[1]\n" +
    "local owners = KEYS[2]\n" +
    "local inventory = KEYS[3]\n" +
    "local listed = KEYS[4]\n" +
    "local listings = KEYS[5]\n" +
    "local newest = KEYS[6]\n" +
    "local prices = KEYS[7]\n" +
    "local sold = KEYS[8]\n" +
    "local timers = KEYS[9]\n" +
    "local token = ARGV[1]\n" +
    "local fenceMs = ARGV[2]\n" +
    "local listingId = ARGV[3]\n" +
    "local sellerId = ARGV[4]\n" +
    "local itemId = ARGV[5]\n" +
    "local price = ARGV[6]\n" +
    "local opensAt = ARGV[7]\n" +
    "local expiresInMs = ARGV[8]\n" +
    "\n" +
    "-- Takes listings apart, for scripts that have them.\n" +
    "\n" +
    "-- itemId, sellerId, price and listedAt as they stand there; opensAt and expiresAt as numbers, 0 and math.huge for none.\n" +
    "local function readListing(listing)\n" +
    "  local itemId, sellerId, price, listedAt, opens, term =\n" +
    "    string.match(listing, '^(%S+) (%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')\n" +
    "  local opensAt, expiresInMs = tonumber(opens) or 0, tonumber(term) or 0\n" +
    "  local expiresAt = expiresInMs > 0 and math.max(tonumber(listedAt), opensAt) + expiresInMs or math.huge\n" +
    "  return itemId, sellerId, price, listedAt, opensAt, expiresAt\n" +
    "end\n" +
    "\n" +
    "-- The members of newest and prices that a listing has once it is open.\n" +
    "local function membersOf(listingId, listing)\n" +
    "  local _, _, price, listedAt, opensAt = readListing(listing)\n" +
    "  local shownAt = math.max(tonumber(listedAt), opensAt)\n" +
    "  return string.format('%013.0f', shownAt) .. ' ' .. listingId, string.format('%013.0f', price) .. ' ' .. listingId\n" +
    "end\n" +
    "-- Makes a listing of an item, for scripts that have checked that it may be made. It expects the locals owners, inventory,\n" +
    "-- listed, listings, newest, prices and timers, and market.terms.part.lua before it.\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local listedAt = string.format('%013.0f', now)\n" +
    "\n" +
    "-- One that opens later is in no index until then. One that opens or expires by itself stands in timers until its tasks are\n" +
    "-- enqueued.\n" +
    "local function putUp(listingId, sellerId, itemId, price, opensAt, expiresInMs)\n" +
    "  local listing = table.concat({ itemId, sellerId, price, listedAt }, ' ')\n" +
    "  if opensAt ~= '0' or expiresInMs ~= '0' then\n" +
    "    listing = table.concat({ listing, opensAt, expiresInMs }, ' ')\n" +
    "    redis.call('ZADD', timers, 0, listedAt .. ' ' .. listingId)\n" +
    "  end\n" +
    "  redis.call('HDEL', owners, itemId)\n" +
    "  redis.call('ZREM', inventory, sellerId .. ' ' .. itemId)\n" +
    "  redis.call('HSET', listed, itemId, listingId)\n" +
    "  redis.call('HSET', listings, listingId, listing)\n" +
    "  if tonumber(opensAt) <= now then\n" +
    "    local newestMember, pricesMember = membersOf(listingId, listing)\n" +
    "    redis.call('ZADD', newest, 0, newestMember)\n" +
    "    redis.call('ZADD', prices, 0, pricesMember)\n" +
    "  end\n" +
    "  return listing\n" +
    "end\n" +
    "\n" +
    "local last = redis.call('GET', fence)\n" +
    "if last and tonumber(last) > tonumber(token) then\n" +
    "  return { 'stale-token', last }\n" +
    "end\n" +
    "if\n" +
    "  redis.call('HEXISTS', listings, listingId) == 1\n" +
    "  or redis.call('HEXISTS', sold, listingId) == 1\n" +
    "  or redis.call('HGET', owners, itemId) ~= sellerId\n" +
    "then\n" +
    "  return { 'changed' }\n" +
    "end\n" +
    "redis.call('SET', fence, token, 'PX', fenceMs)\n" +
    "return { 'listed', putUp(listingId, sellerId, itemId, price, opensAt, expiresInMs) }\n",
} as const);

export const marketSettlePurchase = new Script({
  name: "market.settle-purchase",
  isReadOnly: false,
  keys: ["fence","funds","owners","inventory","listed","listings","newest","prices","sales","saleOrder","sold","requests","outbox"],
  args: ["token","fenceMs","maxCoins","maxSales","saleId","listingId","listing","buyerId","requestKey"],
  source: "#!lua\n" +
    "-- Writes the purchase that somebody decided on under the lock of the listing. The lock keeps others who take it away\n" +
    "-- from the listing while its holder has its lease. It does not keep them away after that, so a token that is smaller\n" +
    "-- than one that has written is refused; and it does not keep away those who buy or withdraw without it, nor those who\n" +
    "-- buy other listings with the same purse, so what the decision rests on has to hold still.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   fence        STRING the last fencing token that wrote this listing; fenceMs from then\n" +
    "--   funds        HASH playerId -> coins; for good\n" +
    "--   owners       HASH itemId -> playerId; until listed\n" +
    "--   inventory    ZSET of 'playerId itemId'; as owners\n" +
    "--   listed       HASH itemId -> listingId; until withdrawn or sold\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,\n" +
    "--                sold or expired\n" +
    "--   newest       ZSET of 'listedAt listingId', from when it opens; as listings\n" +
    "--   prices       ZSET of 'price listingId', from when it opens; as listings\n" +
    "--   sales        HASH saleId -> 'listingId itemId sellerId buyerId price soldAt requestKey'; the newest maxSales\n" +
    "--   saleOrder    LIST of saleIds, oldest first; as sales\n" +
    "--   sold         HASH listingId -> saleId; as sales\n" +
    "--   requests     HASH requestKey -> saleId; as sales\n" +
    "--   outbox       ZSET soldAt -> saleId; until the mail is enqueued\n" +
    "-- ARGV\n" +
    "--   token        of the lease under which the listing was read\n" +
    "--   fenceMs      ms\n" +
    "--   maxCoins     the most that a player may have\n" +
    "--   maxSales\n" +
    "--   saleId\n" +
    "--   listingId\n" +
    "--   listing      as it was read\n" +
    "--   buyerId\n" +
    "--   requestKey   '': none\n" +
    "-- RETURNS\n" +
    "--   {'sold', saleId, sale}, {'stale-token', the last token}, or {'changed'}: to be read and decided again\n" +
    "local fence = KEYS[1]\n" +
    "local funds = KEYS[2]\n" +
    "local owners = KEYS[3]\n" +
    "local inventory = KEYS[4]\n" +
    "local listed = KEYS[5]\n" +
    "local listings = KEYS[6]\n" +
    "local newest = KEYS[7]\n" +
    "local prices = KEYS[8]\n" +
    "local sales = KEYS[9]\n" +
    "local saleOrder = KEYS[10]\n" +
    "local sold = KEYS[11]\n" +
    "local requests = KEYS[12]\n" +
    "local outbox = KEYS[13]\n" +
    "local token = ARGV[1]\n" +
    "local fenceMs = ARGV[2]\n" +
    "local maxCoins = tonumber(ARGV[3])\n" +
    "local maxSales = tonumber(ARGV[4])\n" +
    "local saleId = ARGV[5]\n" +
    "local listingId = ARGV[6]\n" +
    "local listing = ARGV[7]\n" +
    "local buyerId = ARGV[8]\n" +
    "local requestKey = ARGV[9]\n" +
    "\n" +
    "-- Takes listings apart, for scripts that have them.\n" +
    "\n" +
    "-- itemId, sellerId, price and listedAt as they stand there; opensAt and expiresAt as numbers, 0 and math.huge for none.\n" +
    "local function readListing(listing)\n" +
    "  local itemId, sellerId, price, listedAt, opens, term =\n" +
    "    string.match(listing, '^(%S+) (%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')\n" +
    "  local opensAt, expiresInMs = tonumber(opens) or 0, tonumber(term) or 0\n" +
    "  local expiresAt = expiresInMs > 0 and math.max(tonumber(listedAt), opensAt) + expiresInMs or math.huge\n" +
    "  return itemId, sellerId, price, listedAt, opensAt, expiresAt\n" +
    "end\n" +
    "\n" +
    "-- The members of newest and prices that a listing has once it is open.\n" +
    "local function membersOf(listingId, listing)\n" +
    "  local _, _, price, listedAt, opensAt = readListing(listing)\n" +
    "  local shownAt = math.max(tonumber(listedAt), opensAt)\n" +
    "  return string.format('%013.0f', shownAt) .. ' ' .. listingId, string.format('%013.0f', price) .. ' ' .. listingId\n" +
    "end\n" +
    "-- The sale itself, for scripts that have checked that it may be made. It expects the locals funds, owners, inventory,\n" +
    "-- listed, listings, newest, prices, sales, saleOrder, sold, requests, outbox and maxSales, and market.terms.part.lua before it.\n" +
    "\n" +
    "-- More than one receipt goes only after maxSales was lowered; the bound keeps a purchase short.\n" +
    "local MAX_DROPS = 8\n" +
    "local SALE = '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S*)$'\n" +
    "\n" +
    "local time = redis.call('TIME')\n" +
    "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n" +
    "local soldAt = string.format('%013.0f', now)\n" +
    "\n" +
    "-- The oldest receipts, whose place the next one takes.\n" +
    "local function oldestSales()\n" +
    "  local excess = math.min(redis.call('LLEN', saleOrder) - maxSales + 1, MAX_DROPS)\n" +
    "  return excess > 0 and redis.call('LRANGE', saleOrder, 0, excess - 1) or {}\n" +
    "end\n" +
    "\n" +
    "-- A receipt has to stay as long as its mail is not enqueued.\n" +
    "local function isMailPending(saleId)\n" +
    "  return saleId and redis.call('ZSCORE', outbox, saleId)\n" +
    "end\n" +
    "\n" +
    "local function drop(saleId)\n" +
    "  local listingId, _, _, _, _, _, requestKey = string.match(redis.call('HGET', sales, saleId), SALE)\n" +
    "  redis.call('LPOP', saleOrder)\n" +
    "  redis.call('HDEL', sales, saleId)\n" +
    "  redis.call('HDEL', sold, listingId)\n" +
    "  if requestKey ~= '' then\n" +
    "    redis.call('HDEL', requests, requestKey)\n" +
    "  end\n" +
    "end\n" +
    "\n" +
    "local function sell(saleId, listingId, listing, buyerId, requestKey, oldest)\n" +
    "  local itemId, sellerId, price = readListing(listing)\n" +
    "  local newestMember, pricesMember = membersOf(listingId, listing)\n" +
    "  for _, oldId in ipairs(oldest) do\n" +
    "    if isMailPending(oldId) then\n" +
    "      break\n" +
    "    end\n" +
    "    drop(oldId)\n" +
    "  end\n" +
    "  redis.call('HINCRBY', funds, buyerId, '-' .. price)\n" +
    "  redis.call('HINCRBY', funds, sellerId, price)\n" +
    "  redis.call('HDEL', listings, listingId)\n" +
    "  redis.call('HDEL', listed, itemId)\n" +
    "  redis.call('ZREM', newest, newestMember)\n" +
    "  redis.call('ZREM', prices, pricesMember)\n" +
    "  redis.call('HSET', owners, itemId, buyerId)\n" +
    "  redis.call('ZADD', inventory, 0, buyerId .. ' ' .. itemId)\n" +
    "  local sale = table.concat({ listingId, itemId, sellerId, buyerId, price, soldAt, requestKey }, ' ')\n" +
    "  redis.call('HSET', sales, saleId, sale)\n" +
    "  redis.call('RPUSH', saleOrder, saleId)\n" +
    "  redis.call('HSET', sold, listingId, saleId)\n" +
    "  if requestKey ~= '' then\n" +
    "    redis.call('HSET', requests, requestKey, saleId)\n" +
    "  end\n" +
    "  redis.call('ZADD', outbox, soldAt, saleId)\n" +
    "  return sale\n" +
    "end\n" +
    "\n" +
    "local last = redis.call('GET', fence)\n" +
    "if last and tonumber(last) > tonumber(token) then\n" +
    "  return { 'stale-token', last }\n" +
    "end\n" +
    "local _, sellerId, price, _, _, expiresAt = readListing(listing)\n" +
    "local oldest = oldestSales()\n" +
    "if\n" +
    "  redis.call('HGET', listings, listingId) ~= listing\n" +
    "  or requestKey ~= '' and redis.call('HEXISTS', requests, requestKey) == 1\n" +
    "  or tonumber(redis.call('HGET', funds, buyerId)) < tonumber(price)\n" +
    "  or redis.call('HGET', funds, sellerId) + price > maxCoins\n" +
    "  or now >= expiresAt\n" +
    "  or isMailPending(oldest[1])\n" +
    "then\n" +
    "  return { 'changed' }\n" +
    "end\n" +
    "redis.call('SET', fence, token, 'PX', fenceMs)\n" +
    "return { 'sold', saleId, sell(saleId, listingId, listing, buyerId, requestKey, oldest) }\n",
} as const);

export const marketSettleWithdrawal = new Script({
  name: "market.settle-withdrawal",
  isReadOnly: false,
  keys: ["fence","owners","inventory","listed","listings","newest","prices"],
  args: ["token","fenceMs","listingId","listing"],
  source: "#!lua\n" +
    "-- Writes the withdrawal that somebody decided on under the lock of the listing; see market.settle-purchase.lua.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   fence        STRING the last fencing token that wrote this listing; fenceMs from then\n" +
    "--   owners       HASH itemId -> playerId; until listed\n" +
    "--   inventory    ZSET of 'playerId itemId'; as owners\n" +
    "--   listed       HASH itemId -> listingId; until withdrawn or sold\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,\n" +
    "--                sold or expired\n" +
    "--   newest       ZSET of 'listedAt listingId', from when it opens; as listings\n" +
    "--   prices       ZSET of 'price listingId', from when it opens; as listings\n" +
    "-- ARGV\n" +
    "--   token        of the lease under which the listing was read\n" +
    "--   fenceMs      ms\n" +
    "--   listingId\n" +
    "--   listing      as it was read\n" +
    "-- RETURNS\n" +
    "--   {'withdrawn'}, {'stale-token', the last token}, or {'changed'}: to be read and decided again\n" +
    "local fence = KEYS[1]\n" +
    "local owners = KEYS[2]\n" +
    "local inventory = KEYS[3]\n" +
    "local listed = KEYS[4]\n" +
    "local listings = KEYS[5]\n" +
    "local newest = KEYS[6]\n" +
    "local prices = KEYS[7]\n" +
    "local token = ARGV[1]\n" +
    "local fenceMs = ARGV[2]\n" +
    "local listingId = ARGV[3]\n" +
    "local listing = ARGV[4]\n" +
    "\n" +
    "-- Takes listings apart, for scripts that have them.\n" +
    "\n" +
    "-- itemId, sellerId, price and listedAt as they stand there; opensAt and expiresAt as numbers, 0 and math.huge for none.\n" +
    "local function readListing(listing)\n" +
    "  local itemId, sellerId, price, listedAt, opens, term =\n" +
    "    string.match(listing, '^(%S+) (%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')\n" +
    "  local opensAt, expiresInMs = tonumber(opens) or 0, tonumber(term) or 0\n" +
    "  local expiresAt = expiresInMs > 0 and math.max(tonumber(listedAt), opensAt) + expiresInMs or math.huge\n" +
    "  return itemId, sellerId, price, listedAt, opensAt, expiresAt\n" +
    "end\n" +
    "\n" +
    "-- The members of newest and prices that a listing has once it is open.\n" +
    "local function membersOf(listingId, listing)\n" +
    "  local _, _, price, listedAt, opensAt = readListing(listing)\n" +
    "  local shownAt = math.max(tonumber(listedAt), opensAt)\n" +
    "  return string.format('%013.0f', shownAt) .. ' ' .. listingId, string.format('%013.0f', price) .. ' ' .. listingId\n" +
    "end\n" +
    "-- Gives the item of a listing back to its seller, for scripts that have checked that it may be. It expects the locals owners,\n" +
    "-- inventory, listed, listings, newest and prices, and market.terms.part.lua before it.\n" +
    "local function takeBack(listingId, listing)\n" +
    "  local itemId, sellerId = readListing(listing)\n" +
    "  local newestMember, pricesMember = membersOf(listingId, listing)\n" +
    "  redis.call('HDEL', listings, listingId)\n" +
    "  redis.call('HDEL', listed, itemId)\n" +
    "  redis.call('ZREM', newest, newestMember)\n" +
    "  redis.call('ZREM', prices, pricesMember)\n" +
    "  redis.call('HSET', owners, itemId, sellerId)\n" +
    "  redis.call('ZADD', inventory, 0, sellerId .. ' ' .. itemId)\n" +
    "end\n" +
    "\n" +
    "local last = redis.call('GET', fence)\n" +
    "if last and tonumber(last) > tonumber(token) then\n" +
    "  return { 'stale-token', last }\n" +
    "end\n" +
    "if redis.call('HGET', listings, listingId) ~= listing then\n" +
    "  return { 'changed' }\n" +
    "end\n" +
    "redis.call('SET', fence, token, 'PX', fenceMs)\n" +
    "takeBack(listingId, listing)\n" +
    "return { 'withdrawn' }\n",
} as const);

export const marketTimers = new Script({
  name: "market.timers",
  isReadOnly: true,
  keys: ["timers","listings"],
  args: ["limit"],
  source: "#!lua flags=no-writes\n" +
    "-- Reads listings whose tasks are not enqueued yet, the oldest first.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   timers       ZSET of 'listedAt listingId'\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'\n" +
    "-- ARGV\n" +
    "--   limit\n" +
    "-- RETURNS\n" +
    "--   {members, their listings}; nil for one that is gone\n" +
    "local timers = KEYS[1]\n" +
    "local listings = KEYS[2]\n" +
    "local limit = tonumber(ARGV[1])\n" +
    "\n" +
    "local members = redis.call('ZRANGE', timers, 0, limit - 1)\n" +
    "local found = {}\n" +
    "for i, member in ipairs(members) do\n" +
    "  found[i] = redis.call('HGET', listings, string.sub(member, 15))\n" +
    "end\n" +
    "return { members, found }\n",
} as const);

export const marketWithdraw = new Script({
  name: "market.withdraw",
  isReadOnly: false,
  keys: ["owners","inventory","listed","listings","newest","prices","sold"],
  args: ["listingId","playerId"],
  source: "#!lua\n" +
    "-- Takes a listing back: the item returns to its seller's inventory.\n" +
    "--\n" +
    "-- KEYS\n" +
    "--   owners       HASH itemId -> playerId; until listed\n" +
    "--   inventory    ZSET of 'playerId itemId'; as owners\n" +
    "--   listed       HASH itemId -> listingId; until withdrawn or sold\n" +
    "--   listings     HASH listingId -> 'itemId sellerId price listedAt', or that and ' opensAt expiresInMs'; until withdrawn,\n" +
    "--                sold or expired\n" +
    "--   newest       ZSET of 'listedAt listingId', from when it opens; as listings\n" +
    "--   prices       ZSET of 'price listingId', from when it opens; as listings\n" +
    "--   sold         HASH listingId -> saleId; as long as the sale is kept\n" +
    "-- ARGV\n" +
    "--   listingId\n" +
    "--   playerId     who asks\n" +
    "-- RETURNS\n" +
    "--   'withdrawn', 'unknown-listing', 'already-sold' or 'not-seller'\n" +
    "local owners = KEYS[1]\n" +
    "local inventory = KEYS[2]\n" +
    "local listed = KEYS[3]\n" +
    "local listings = KEYS[4]\n" +
    "local newest = KEYS[5]\n" +
    "local prices = KEYS[6]\n" +
    "local sold = KEYS[7]\n" +
    "local listingId = ARGV[1]\n" +
    "local playerId = ARGV[2]\n" +
    "\n" +
    "-- Takes listings apart, for scripts that have them.\n" +
    "\n" +
    "-- itemId, sellerId, price and listedAt as they stand there; opensAt and expiresAt as numbers, 0 and math.huge for none.\n" +
    "local function readListing(listing)\n" +
    "  local itemId, sellerId, price, listedAt, opens, term =\n" +
    "    string.match(listing, '^(%S+) (%S+) (%S+) (%S+) ?(%S*) ?(%S*)$')\n" +
    "  local opensAt, expiresInMs = tonumber(opens) or 0, tonumber(term) or 0\n" +
    "  local expiresAt = expiresInMs > 0 and math.max(tonumber(listedAt), opensAt) + expiresInMs or math.huge\n" +
    "  return itemId, sellerId, price, listedAt, opensAt, expiresAt\n" +
    "end\n" +
    "\n" +
    "-- The members of newest and prices that a listing has once it is open.\n" +
    "local function membersOf(listingId, listing)\n" +
    "  local _, _, price, listedAt, opensAt = readListing(listing)\n" +
    "  local shownAt = math.max(tonumber(listedAt), opensAt)\n" +
    "  return string.format('%013.0f', shownAt) .. ' ' .. listingId, string.format('%013.0f', price) .. ' ' .. listingId\n" +
    "end\n" +
    "-- Gives the item of a listing back to its seller, for scripts that have checked that it may be. It expects the locals owners,\n" +
    "-- inventory, listed, listings, newest and prices, and market.terms.part.lua before it.\n" +
    "local function takeBack(listingId, listing)\n" +
    "  local itemId, sellerId = readListing(listing)\n" +
    "  local newestMember, pricesMember = membersOf(listingId, listing)\n" +
    "  redis.call('HDEL', listings, listingId)\n" +
    "  redis.call('HDEL', listed, itemId)\n" +
    "  redis.call('ZREM', newest, newestMember)\n" +
    "  redis.call('ZREM', prices, pricesMember)\n" +
    "  redis.call('HSET', owners, itemId, sellerId)\n" +
    "  redis.call('ZADD', inventory, 0, sellerId .. ' ' .. itemId)\n" +
    "end\n" +
    "\n" +
    "local listing = redis.call('HGET', listings, listingId)\n" +
    "if not listing then\n" +
    "  return redis.call('HEXISTS', sold, listingId) == 1 and 'already-sold' or 'unknown-listing'\n" +
    "end\n" +
    "if string.match(listing, '^%S+ (%S+)') ~= playerId then\n" +
    "  return 'not-seller'\n" +
    "end\n" +
    "takeBack(listingId, listing)\n" +
    "return 'withdrawn'\n",
} as const);
