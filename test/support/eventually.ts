/** Polls the condition every millisecond until it holds; rejects after the timeout. */
export async function eventually(condition: () => boolean, what: string, timeoutMs = 5000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
