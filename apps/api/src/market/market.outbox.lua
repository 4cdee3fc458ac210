#!lua flags=no-writes
-- Reads the oldest sales whose mail is not enqueued yet.
--
-- KEYS
--   outbox       ZSET soldAt -> saleId
--   sales        HASH saleId -> sale
-- ARGV
--   limit
-- RETURNS
--   {saleIds, their sales}
local outbox = KEYS[1]
local sales = KEYS[2]
local limit = tonumber(ARGV[1])

local saleIds = redis.call('ZRANGE', outbox, 0, limit - 1)
local found = {}
for i, saleId in ipairs(saleIds) do
  found[i] = redis.call('HGET', sales, saleId)
end
return { saleIds, found }
