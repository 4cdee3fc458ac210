-- Appends an event of a listing, if anybody has followed the market within a day: the stream is there then. Expects the locals events,
-- updates and publish.

local MAX_EVENTS = 10000

local function announce(what, listingId, listing)
  -- 0.8 µs; XADD with NOMKSTREAM takes 3.
  if redis.call('EXISTS', events) == 1 then
    redis.call('XADD', events, 'MAXLEN', '~', MAX_EVENTS, '*', what, listingId .. ' ' .. listing)
    redis.call(publish, updates, '*:')
  end
end
