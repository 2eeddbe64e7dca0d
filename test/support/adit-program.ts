import { join } from 'node:path'

/** This checkout's `adit`, which runs its sources. */
export const ADIT_FROM_SOURCES: string = join(import.meta.dirname, '..', '..', 'bin', 'adit')

/** The `adit` that tests start: `npm run tests` makes a build of the sources first, since that starts in half the time. */
export const ADIT: string = process.env.ADIT_TEST_PROGRAM ?? ADIT_FROM_SOURCES
