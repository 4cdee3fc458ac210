-- A heap in the order of ranks. An empty one is `{ size = 0 }`.
-- Expects: book.places.part.lua before it.

local function push(heap, one)
  local at = heap.size + 1
  heap.size = at
  while at > 1 do
    local above = math.floor(at / 2)
    if not precedes(one, heap[above]) then
      break
    end
    heap[at], at = heap[above], above
  end
  heap[at] = one
end

local function pop(heap)
  local size = heap.size
  local least, one = heap[1], heap[size]
  size = size - 1
  heap[size + 1], heap.size = nil, size
  local at, below = 1, 2
  while below <= size do
    if below < size and precedes(heap[below + 1], heap[below]) then
      below = below + 1
    end
    if not precedes(heap[below], one) then
      break
    end
    heap[at], at, below = heap[below], below, 2 * below
  end
  if size > 0 then
    heap[at] = one
  end
  return least
end
