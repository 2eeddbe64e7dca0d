import { Session } from 'node:inspector/promises'

/**
 * Counts the blocks of a module that run during some work: function bodies, loop rounds and branches, as V8 counts them
 * for coverage. Unlike a time, the number is the same on every machine. `prepare` gets a copy of the module, because
 * only code compiled while V8 counts is counted in detail, and returns the work.
 */
export async function countSteps<Module>(
  url: string,
  prepare: (module: Module) => () => unknown,
): Promise<number> {
  const counted = `${url}?steps=${performance.now()}`
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  const work = prepare(await import(counted))
  // Each reading resets the counters.
  await session.post('Profiler.takePreciseCoverage')
  work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  const functions = result.find((script) => script.url === counted)?.functions ?? []
  return functions.flatMap(({ ranges }) => ranges).reduce((sum, { count }) => sum + count, 0)
}
