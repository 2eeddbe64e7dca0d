/**
 * The CPU milliseconds of this thread for some work, the best of three. Only for work of native code, such as a regular
 * expression, whose steps cannot be counted: it does not depend on the load of the machine, but on its speed, so the
 * limit must be far from what is usual and from what a quadratic search takes.
 */
export async function measureThreadCpu(work: () => unknown): Promise<number> {
  let bestMs = Number.POSITIVE_INFINITY
  for (let round = 0; round < 3; round++) {
    const start = process.threadCpuUsage()
    await work()
    const { user, system } = process.threadCpuUsage(start)
    bestMs = Math.min(bestMs, (user + system) / 1000)
  }
  return bestMs
}
