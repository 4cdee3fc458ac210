-- Whether the outbox has entries without a sender. Expects outbox, now, usesOptional.
local function isOutboxDue()
  if not usesOptional or redis.call('EXISTS', outbox) == 0 then
    return false
  end
  -- l: f64 until when somebody sends, then who; p: f64 until when nothing is due.
  for _, text in ipairs(redis.call('HMGET', outbox, 'l', 'p')) do
    if text and struct.unpack('>d', text) > now then
      return false
    end
  end
  return true
end
