import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Runs a whole garbage collection, so that memory is measured without what V8 would free at its own time. */
export const collectGarbage: () => void = runInNewContext('gc')
