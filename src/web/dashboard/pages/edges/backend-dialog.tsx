import { useState } from 'react'
import type { BackendModule } from '../../../../api-client/index.ts'
import { api, errorMessage } from '../../api.ts'
import { Dialog, Equivalent, LoadStatus, Notice, notify } from '../../kit/index.ts'
import { useBackendChoices } from '../backends/backend-choices.tsx'
import { EditBackend, NewBackend, nameOf } from '../backends/backend-form.tsx'
import { type ListedBackends, useBackend } from '../backends/backends.ts'
import type { BackendKind } from '../backends/kinds.ts'
import { CommandLine } from '../command-line.tsx'
import { ConfirmButton } from '../confirm-button.tsx'
import { Icon } from './icons.tsx'
import { type FlowContext, resolveBackend } from './request-flow.ts'

/** Selects the backend of an edge or route: an existing one or a new one. */
export function ChooseBackendDialog({
  scopePath,
  current,
  kinds,
  onClose,
  onDone,
}: {
  scopePath: string
  current: BackendModule | null | undefined
  /** The kinds that can serve this edge or route. */
  kinds: readonly BackendKind[]
  onClose: () => void
  onDone: () => void
}) {
  const { load, search } = useBackendChoices(kinds)
  const isEmpty = load.value?.total === 0
  const [isRequested, setRequested] = useState(false)
  const creating = isRequested || isEmpty
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
          onCancel={() => (isEmpty ? onClose() : setRequested(false))}
          onDone={({ id }) => void choose(id)}
        />
      ) : load.value === undefined ? (
        <LoadStatus load={load} />
      ) : (
        <>
          {search}
          <BackendList
            currentId={current?.backend.id}
            listed={load.value}
            disabled={busy}
            onNew={() => setRequested(true)}
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
  currentId,
  listed: { ids, context },
  disabled,
  onNew,
  onChoose,
}: {
  currentId: string | undefined
  listed: ListedBackends
  disabled: boolean
  onNew: () => void
  onChoose: (id: string) => void
}) {
  return (
    <div className="kinds">
      <button type="button" className="kind" onClick={onNew}>
        <Icon name="add" />
        <span>
          <b>New backend</b>
          <small>A tunnel group, a weighted backend or another kind</small>
        </span>
      </button>
      {ids.map((id) => {
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
  backendId,
  context,
  mayChange,
  onClose,
  onDone,
}: {
  backendId: string
  context: FlowContext
  mayChange: boolean
  onClose: () => void
  onDone: () => void
}) {
  const backend = useBackend(backendId)
  const { joinCommand, online, title } = resolveBackend(backendId, context, 0)
  return (
    <Dialog title={nameOf(backendId, context)} onClose={onClose}>
      {joinCommand && (
        <>
          <p>{online === 0 ? 'No agent has joined yet. Start one with:' : 'Another agent joins with:'}</p>
          <CommandLine text={joinCommand} />
        </>
      )}
      {!mayChange ? (
        <Notice>You can view this, but your role does not let you change it.</Notice>
      ) : backend.value === undefined ? (
        <LoadStatus load={backend} />
      ) : (
        <EditBackend
          backend={backend.value}
          onCancel={onClose}
          onDone={() => {
            notify(`Saved ${title}.`)
            onDone()
          }}
        />
      )}
    </Dialog>
  )
}
