#!lua flags=no-writes
-- Returns the files whose marks of counted lines may be removed, since the files were done long ago.
--
-- KEYS
--   done         ZSET file -> when it was done, ms
-- ARGV
--   forgetMs     ms
--   limit        files
-- RETURNS
--   { ms until the next one of the others is due, or -1 when there is none, files... }
local done = KEYS[1]
local forgetMs, limit = tonumber(ARGV[1]), ARGV[2]

-- include server.time.part.lua
local dueAt = time[1] * 1000 + math.floor(time[2] / 1000) - forgetMs
local reply = redis.call('ZRANGE', done, '-inf', string.format('%d', dueAt), 'BYSCORE', 'LIMIT', '0', limit)
local after = redis.call('ZRANGE', done, #reply, #reply, 'WITHSCORES')[2]
table.insert(reply, 1, after and math.max(0, tonumber(after) - dueAt) or -1)
return reply
