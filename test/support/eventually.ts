/** Resolves once the condition holds, looking again every millisecond; rejects after the deadline. */
export async function eventually(condition: () => boolean, what: string, deadlineMs = 5000): Promise<void> {
  const until = performance.now() + deadlineMs
  while (!condition()) {
    if (performance.now() > until) throw new Error(`Not within ${deadlineMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
