-- Removes the oldest entries. Expects log (key), surplus (their number, which the log has). Changes stored and bytes, its
-- length and size.
local popped = redis.call('LPOP', log, surplus)
for i = 1, #popped do
  bytes = bytes - #popped[i]
end
stored = stored - #popped
