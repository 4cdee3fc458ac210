-- Whether a contender listens to its channel here. Asked before a grant is published: what is published to somebody who
-- listens to a replica, or still to a former master, arrives there but isn't counted. The count of PUBLISH would then say
-- that nobody has it, the next one would be granted the same, and both would believe it. Expects publish.
local function isHeard(channel)
  return redis.call('PUBSUB', publish == 'SPUBLISH' and 'SHARDNUMSUB' or 'NUMSUB', channel)[2] > 0
end
