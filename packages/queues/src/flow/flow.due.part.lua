-- Whether the outbox has entries and no sender. Expects outbox, now, usesOptional.
local function isOutboxDue()
  if not usesOptional or redis.call('EXISTS', outbox) == 0 then
    return false
  end
  -- l: f64 end of the sender's lease, then the sender; p: f64 time until which nothing is due.
  for _, text in ipairs(redis.call('HMGET', outbox, 'l', 'p')) do
    if text and struct.unpack('>d', text) > now then
      return false
    end
  end
  return true
end
