/** Formats nanoseconds as `3.2 ms`. */
export function formatDuration(nanoseconds: number): string {
  const ms = nanoseconds / 1e6
  if (ms < 1) return `${ms.toFixed(2)} ms`
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}

/** Formats a number of bytes as `1.4 kB`, in steps of 1000. */
export function formatBytes(count: number): string {
  if (count < 1000) return `${count} B`
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)} kB`
  if (count < 1e9) return `${(count / 1e6).toFixed(count < 1e7 ? 1 : 0)} MB`
  return `${(count / 1e9).toFixed(1)} GB`
}

/** Removes port and brackets from an address. */
export function stripPort(address: string): string {
  return address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
}
