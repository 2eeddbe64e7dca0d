const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there (connection refused)',
  ECONNRESET: 'the connection was closed',
  EHOSTUNREACH: 'there is no way to it from here',
  ENETUNREACH: 'there is no way to it from here',
  ETIMEDOUT: 'it did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time',
  UND_ERR_SOCKET: 'the connection was closed',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
}

/** Why something could not be fetched, in words: `fetch` itself says no more than that it failed. */
export function describeNetworkError(error: unknown): string {
  const { name, message, code, cause } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError') return 'it did not answer in time'
  const description = DESCRIPTIONS[code ?? '']
  if (description !== undefined) return description
  return cause instanceof Error ? describeNetworkError(cause) : message
}
