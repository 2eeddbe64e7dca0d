/** Removes the entry that was added first: what a map with a limit gives up for a new one. */
export function deleteOldest(map: Map<unknown, unknown>): void {
  for (const key of map.keys()) {
    map.delete(key)
    return
  }
}
