#!lua
-- Adds a secret to an API key. Its other secrets are valid for the overlap, or as long as they are now if that is shorter.
--
-- KEYS
--   record       HASH of the key; until it is revoked
-- ARGV
--   hash         of the new secret, hexadecimal
--   overlapMs
--   maxSecrets
-- RETURNS
--   'rotated', 'unknown-key' or 'too-many-secrets'
local record = KEYS[1]
local hash = ARGV[1]
local overlapMs = tonumber(ARGV[2])
local maxSecrets = tonumber(ARGV[3])

if redis.call('EXISTS', record) == 0 then
  return 'unknown-key'
end
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = now + overlapMs
local changes, ended, kept = {}, {}, 0
local fields = redis.call('HGETALL', record)
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 7) == 'secret:' then
    local validUntil = math.min(tonumber(fields[i + 1]) or math.huge, last)
    if validUntil <= now then
      ended[#ended + 1] = fields[i]
    else
      kept = kept + 1
      changes[#changes + 1] = fields[i]
      changes[#changes + 1] = string.format('%.0f', validUntil)
    end
  end
end
if kept >= maxSecrets then
  return 'too-many-secrets'
end
if #ended > 0 then
  redis.call('HDEL', record, unpack(ended))
end
redis.call('HSET', record, 'rotatedAt', string.format('%.0f', now), 'secret:' .. hash, '', unpack(changes))
return 'rotated'
