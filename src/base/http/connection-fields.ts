/** Header fields that frame a message or belong to one connection. Only the edge writes them. */
export const CONNECTION_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Whether a header field of this name (in lower case) is not for others to change: one of these, or for proxies. */
export function isConnectionField(name: string): boolean {
  return CONNECTION_FIELDS.has(name) || name.startsWith('proxy-')
}
