-- Refuses a caller that expects other settings than the stored ones, and reads the time. Expects: settings,
-- expectedSettings.
local stored = redis.call('GET', settings)
if stored and stored ~= expectedSettings then
  return redis.error_reply('SETTINGS ' .. stored)
end
-- include server.time.part.lua
local now = time[1] * 1000 + math.floor(time[2] / 1000)
