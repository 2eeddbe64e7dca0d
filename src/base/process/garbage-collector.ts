import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * V8's garbage collector, to be called when the program knows more than V8. Undefined if V8 no longer honours a flag that is
 * set at run time; then it collects by itself, as it does without us.
 */
export function loadGarbageCollector(): NodeJS.GCFunction | undefined {
  setFlagsFromString('--expose-gc')
  return runInNewContext('globalThis.gc')
}

/**
 * Lets the heap grow by this share of its size from one major collection to the next, instead of by what V8 thinks fit, which
 * is a tenth after an idle time.
 */
export function setHeapGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}
