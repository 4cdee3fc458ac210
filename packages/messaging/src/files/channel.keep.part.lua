-- Extends the lifetime of a channel. Its keys expire together: a key that outlived the others would belong to the next
-- channel of the name. Expects: head, files, listed, done, receivers, sent (keys).
local keepMs = redis.call('HGET', head, 'keepMs')
if keepMs then
  for _, key in ipairs({ head, files, listed, done, receivers, sent }) do
    redis.call('PEXPIRE', key, keepMs)
  end
end
