import { type ReactNode, useState } from 'react'
import { type LoadState, Search } from '../../kit/index.ts'
import { useLoad } from '../use-load.ts'
import { BACKENDS_PER_PAGE, type ListedBackends, listBackends } from './backends.ts'
import type { BackendKind } from './kinds.ts'

/** The newest backends to choose from, with a search for the others where there are more. */
export function useBackendChoices(kinds: readonly BackendKind[] = []): {
  readonly load: LoadState<ListedBackends>
  readonly search: ReactNode
} {
  const [words, setWords] = useState('')
  const load = useLoad((signal) => listBackends({ search: words, kinds }, signal), {
    key: `${kinds} ${words}`,
  })
  const { matching = 0 } = load.value ?? {}
  const search = (words !== '' || matching > BACKENDS_PER_PAGE) && (
    <div className="choice-search">
      <Search label="Search backends" value={words} onValue={setWords} />
      <p className="quiet" role="status">
        {matching > BACKENDS_PER_PAGE
          ? `The newest ${BACKENDS_PER_PAGE} of ${matching.toLocaleString('en')} are listed.`
          : matching === 0 && 'No matches'}
      </p>
    </div>
  )
  return { load, search }
}
