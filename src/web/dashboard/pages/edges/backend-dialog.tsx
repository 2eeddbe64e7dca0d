import { useState } from 'react'
import { api, errorMessage } from '../../api.ts'
import { Dialog, Equivalent, Notice, notify } from '../../kit/index.ts'
import { EditBackend, NewBackend, nameOf } from '../backends/backend-form.tsx'
import { type BackendKind, backendKindOf } from '../backends/kinds.ts'
import { CommandLine } from '../command-line.tsx'
import { ConfirmButton } from '../confirm-button.tsx'
import type { Backend, BackendModule } from '../resources.ts'
import { Icon } from './icons.tsx'
import { type FlowContext, resolveBackend } from './request-flow.ts'

/** Selects the backend of an edge or route: an existing one or a new one. */
export function ChooseBackendDialog({
  scopePath,
  current,
  context,
  kinds,
  onClose,
  onDone,
}: {
  scopePath: string
  current: BackendModule | null | undefined
  context: FlowContext
  /** The kinds that can serve this edge or route. */
  kinds: readonly BackendKind[]
  onClose: () => void
  onDone: () => void
}) {
  const [creating, setCreating] = useState(context.backends.size === 0)
  const [busy, setBusy] = useState(false)
  const [errorText, setErrorText] = useState<string>()
  const path = `${scopePath}/backend`
  const finish = (message: string) => {
    notify(message)
    onDone()
  }
  const choose = async (id: string) => {
    setBusy(true)
    setErrorText(undefined)
    try {
      await api.put(path, { enabled: true, backend_id: id })
      finish('Backend changed.')
    } catch (error) {
      setErrorText(errorMessage(error))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={creating ? 'New backend' : current ? 'Change backend' : 'Choose backend'}
      onClose={onClose}
    >
      {errorText && <Notice kind="bad">{errorText}</Notice>}
      {creating ? (
        <NewBackend
          kinds={kinds}
          onCancel={() => (context.backends.size === 0 ? onClose() : setCreating(false))}
          onDone={({ id }) => void choose(id)}
        />
      ) : (
        <>
          <BackendList
            kinds={kinds}
            currentId={current?.backend.id}
            context={context}
            disabled={busy}
            onNew={() => setCreating(true)}
            onChoose={(id) => void choose(id)}
          />
          {current && <CurrentBackendActions path={path} current={current} onDone={finish} />}
          <Equivalent method="PUT" path={path} body={{ enabled: true, backend_id: 'BACKEND_ID' }} />
        </>
      )}
    </Dialog>
  )
}

/** The backends to choose from, and a way to a new one. */
function BackendList({
  kinds,
  currentId,
  context,
  disabled,
  onNew,
  onChoose,
}: {
  kinds: readonly BackendKind[]
  currentId: string | undefined
  context: FlowContext
  disabled: boolean
  onNew: () => void
  onChoose: (id: string) => void
}) {
  const candidates = [...context.backends.values()].filter(({ id }) => {
    const kind = backendKindOf(id)
    return kind !== undefined && kinds.includes(kind)
  })
  return (
    <div className="kinds">
      <button type="button" className="kind" onClick={onNew}>
        <Icon name="add" />
        <span>
          <b>New backend</b>
          <small>A tunnel group, a weighted backend or another kind</small>
        </span>
      </button>
      {candidates.map(({ id }) => {
        const { kind, title, summary } = resolveBackend(id, context, 0)
        const selected = currentId === id
        return (
          <button
            type="button"
            key={id}
            className="kind"
            aria-pressed={selected}
            disabled={disabled}
            onClick={() => onChoose(id)}
          >
            <Icon name={kind ?? 'static'} />
            <span>
              <b>{title}</b>
              <small>{selected ? `current · ${summary}` : summary}</small>
            </span>
          </button>
        )
      })}
    </div>
  )
}

/** Switches the chosen backend on or off, or removes it. */
function CurrentBackendActions({
  path,
  current,
  onDone,
}: {
  path: string
  current: BackendModule
  onDone: (message: string) => void
}) {
  return (
    <div className="module-foot">
      <ConfirmButton
        label={current.enabled ? 'Switch off' : 'Switch on'}
        title={current.enabled ? 'Switch the backend off?' : 'Switch the backend on?'}
        call={{
          method: 'PUT',
          path,
          body: { enabled: !current.enabled, backend_id: current.backend.id },
        }}
        onDone={() => onDone(current.enabled ? 'Backend switched off.' : 'Backend switched on.')}
      >
        {current.enabled
          ? 'Visitors get an error. The selection is kept.'
          : 'Visitors reach the backend again.'}
      </ConfirmButton>
      <ConfirmButton
        label="Remove backend"
        kind="danger"
        title="Remove the backend?"
        call={{ method: 'DELETE', path }}
        onDone={() => onDone('Backend removed.')}
      >
        Visitors get an error until another backend is chosen. The backend itself is not deleted.
      </ConfirmButton>
    </div>
  )
}

/** Edits a backend from the diagram of an edge. */
export function EditBackendDialog({
  backend,
  context,
  mayChange,
  onClose,
  onDone,
}: {
  backend: Backend
  context: FlowContext
  mayChange: boolean
  onClose: () => void
  onDone: () => void
}) {
  const { joinCommand, tunnels, title } = resolveBackend(backend.id, context, 0)
  return (
    <Dialog title={nameOf(backend.id, context)} onClose={onClose}>
      {joinCommand && (
        <>
          <p>
            {tunnels.length === 0 ? 'No agent has joined yet. Start one with:' : 'Another agent joins with:'}
          </p>
          <CommandLine text={joinCommand} />
        </>
      )}
      {mayChange ? (
        <EditBackend
          backend={backend}
          onCancel={onClose}
          onDone={() => {
            notify(`Saved ${title}.`)
            onDone()
          }}
        />
      ) : (
        <Notice>You can view this, but your role does not let you change it.</Notice>
      )}
    </Dialog>
  )
}
