import { useState } from 'react'
import { api, sentenceOf } from '../../api.ts'
import { Dialog, Equivalent, Notice, say } from '../../kit/index.ts'
import { AskButton } from '../ask-button.tsx'
import { EditBackend, NewBackend, nameOf } from '../backends/backend-form.tsx'
import { CommandLine } from '../command-line.tsx'
import type { Backend, BackendKind, BackendModule } from '../resources.ts'
import { backendKindOf } from '../resources.ts'
import { Icon } from './icons.tsx'
import { answererOf, type Surroundings } from './request-flow.ts'

/** Chooses who answers on a place: somebody who is there already, or somebody new. */
export function ChooseBackendDialog({
  placePath,
  current,
  around,
  kinds,
  onClose,
  onDone,
}: {
  placePath: string
  current: BackendModule | null | undefined
  around: Surroundings
  /** Those that can answer here. */
  kinds: readonly BackendKind[]
  onClose: () => void
  onDone: () => void
}) {
  const [making, setMaking] = useState(around.backends.size === 0)
  const [busy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<string>()
  const path = `${placePath}/backend`
  const finish = (said: string) => {
    say(said)
    onDone()
  }
  const choose = async (id: string) => {
    setBusy(true)
    setRefusal(undefined)
    try {
      await api.put(path, { enabled: true, backend_id: id })
      finish('Chosen.')
    } catch (error) {
      setRefusal(sentenceOf(error))
      setBusy(false)
    }
  }
  const fitting = [...around.backends.values()].filter(({ id }) => kinds.includes(backendKindOf(id)!))
  return (
    <Dialog title={making ? 'New backend' : 'Who answers?'} onClose={onClose}>
      {refusal && <Notice kind="bad">{refusal}</Notice>}
      {making ? (
        <NewBackend
          kinds={kinds}
          onCancel={() => (around.backends.size === 0 ? onClose() : setMaking(false))}
          onDone={({ id }) => void choose(id)}
        />
      ) : (
        <>
          <div className="kinds">
            <button type="button" className="kind" onClick={() => setMaking(true)}>
              <Icon name="add" />
              <span>
                <b>Somebody new</b>
                <small>A tunnel group, a weighted backend and so on</small>
              </span>
            </button>
            {fitting.map(({ id }) => {
              const { kind, title, brief } = answererOf(id, around, 0)
              const chosen = current?.backend.id === id
              return (
                <button
                  type="button"
                  key={id}
                  className="kind"
                  aria-pressed={chosen}
                  disabled={busy}
                  onClick={() => void choose(id)}
                >
                  <Icon name={kind ?? 'static'} />
                  <span>
                    <b>{title}</b>
                    <small>{chosen ? `answers now · ${brief}` : brief}</small>
                  </span>
                </button>
              )
            })}
          </div>
          {current && (
            <div className="module-foot">
              <AskButton
                label={current.enabled ? 'Switch off' : 'Switch on'}
                title={current.enabled ? 'Should nobody answer for now?' : 'Should it answer again?'}
                call={{
                  method: 'PUT',
                  path,
                  body: { enabled: !current.enabled, backend_id: current.backend.id },
                }}
                onDone={() => finish(current.enabled ? 'Nobody answers now.' : 'It answers again.')}
              >
                {current.enabled
                  ? 'Visitors are told that nobody is there. What was chosen is kept.'
                  : 'Visitors reach it again.'}
              </AskButton>
              <AskButton
                label="Nobody"
                kind="danger"
                title="Take the choice back?"
                call={{ method: 'DELETE', path }}
                onDone={() => finish('Nobody is chosen.')}
              >
                Visitors are told that nobody is there. The backend itself stays.
              </AskButton>
            </div>
          )}
          <Equivalent method="PUT" path={path} body={{ enabled: true, backend_id: 'BACKEND_ID' }} />
        </>
      )}
    </Dialog>
  )
}

/** Changes a backend from the picture it stands in. */
export function EditBackendDialog({
  backend,
  around,
  mayChange,
  onClose,
  onDone,
}: {
  backend: Backend
  around: Surroundings
  mayChange: boolean
  onClose: () => void
  onDone: () => void
}) {
  const { joinWith, tunnels, title } = answererOf(backend.id, around, 0)
  return (
    <Dialog title={nameOf(backend.id, around)} onClose={onClose}>
      {joinWith && (
        <>
          <p>
            {tunnels.length === 0 ? 'No agent has joined yet. Start one with:' : 'Another agent joins with:'}
          </p>
          <CommandLine text={joinWith} />
        </>
      )}
      {mayChange ? (
        <EditBackend
          backend={backend}
          onCancel={onClose}
          onDone={() => {
            say(`${title} is saved.`)
            onDone()
          }}
        />
      ) : (
        <Notice>You may look at this, but your role does not let you change it.</Notice>
      )}
    </Dialog>
  )
}
