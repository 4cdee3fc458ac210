-- Puts the outcomes of log.append.part.lua in their places among the refusals of log.unpack.part.lua, if any, and adds the
-- dropped ids.
if refusals then
  for i = 1, count do
    refusals[places[i]] = outcomes[i]
  end
  outcomes = refusals
end
if droppedTo > 0 then
  outcomes[#outcomes + 1] = droppedFrom
  outcomes[#outcomes + 1] = droppedTo
end
