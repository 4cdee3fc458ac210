-- Whether a client listens to its channel here. A script checks this before it publishes a grant: PUBLISH doesn't count a
-- client that listens to a replica or to a former master, although the message arrives there. By that count, the script
-- would grant the same lock to the next waiter as well. Expects publish.
local function isListening(channel)
  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0
end
