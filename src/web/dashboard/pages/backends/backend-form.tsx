import { useState } from 'react'
import type { BackendListing } from '../../../../dashboard/page-data.ts'
import { type ApiError, api } from '../../api.ts'
import { ResourceForm } from '../../form/resource-form.tsx'
import { Button, Field, Form, Loading, Notice, TextField } from '../../kit/index.ts'
import { Icon } from '../edges/icons.tsx'
import { type FlowContext, resolveBackend } from '../edges/request-flow.ts'
import type { Backend } from '../resources.ts'
import { useBackendChoices } from './backend-choices.tsx'
import { listingOf, useBackendTrees } from './backends.ts'
import { BACKEND_KIND_TEXTS, type BackendKind, backendKindOf, KIND_ORDER } from './kinds.ts'
import './backends.css'

interface FormProps {
  readonly onDone: (backend: Backend) => void
  readonly onCancel: () => void
}

/** Creates a backend: first its kind, then its settings. Child backends can be created in the same dialog. */
export function NewBackend({
  onDone,
  onCancel,
  kinds = KIND_ORDER,
}: FormProps & { kinds?: readonly BackendKind[] }) {
  const [kind, setKind] = useState<BackendKind>()
  if (kind === undefined)
    return (
      <div className="kinds">
        {kinds.map((each) => (
          <button type="button" key={each} className="kind" onClick={() => setKind(each)}>
            <Icon name={each} />
            <span>
              <b>{BACKEND_KIND_TEXTS[each].title}</b>
              <small>{BACKEND_KIND_TEXTS[each].summary}</small>
            </span>
          </button>
        ))}
        <div className="form-actions">
          <Button kind="quiet" onClick={onCancel}>
            Cancel
          </Button>
        </div>
      </div>
    )
  const back = () => setKind(undefined)
  if (kind === 'weighted' || kind === 'failover')
    return <GroupForm kind={kind} onDone={onDone} onCancel={back} />
  return (
    <ResourceForm<Backend>
      method="POST"
      path={`/backends/${kind}`}
      verb={`Create ${BACKEND_KIND_TEXTS[kind].title.toLowerCase()}`}
      onDone={onDone}
      onCancel={back}
    />
  )
}

/** Edits a backend. */
export function EditBackend({ backend, onDone, onCancel }: FormProps & { backend: Backend }) {
  const kind = backendKindOf(backend.id)!
  if (kind === 'weighted' || kind === 'failover')
    return <GroupForm kind={kind} backend={backend} onDone={onDone} onCancel={onCancel} />
  return (
    <ResourceForm<Backend>
      method="PATCH"
      path={`/backends/${kind}/${backend.id}`}
      item={{ ...backend }}
      verb="Save"
      onDone={onDone}
      onCancel={onCancel}
    />
  )
}

interface Child {
  readonly id: string
  readonly weight: number
}

function childrenOf(backend: Backend | undefined): Child[] {
  const { backends = {} } = backend ?? {}
  return Array.isArray(backends)
    ? (backends as string[]).map((id) => ({ id, weight: 1 }))
    : Object.entries(backends as Record<string, number>).map(([id, weight]) => ({ id, weight }))
}

/** The form of a weighted or failover backend: child backends with weights, or in order. */
function GroupForm({
  kind,
  backend,
  onDone,
  onCancel,
}: FormProps & { kind: 'weighted' | 'failover'; backend?: Backend }) {
  const saved = useBackendTrees(
    childrenOf(backend).map(({ id }) => id),
    '',
  )
  const choices = useBackendChoices()
  // They stay known when the search lists others.
  const [added, setAdded] = useState<readonly BackendListing[]>([])
  const [description, setDescription] = useState(backend?.description ?? '')
  const [children, setChildren] = useState(() => childrenOf(backend))
  const [creating, setCreating] = useState(false)
  const backends =
    kind === 'failover'
      ? children.map(({ id }) => id)
      : Object.fromEntries(children.map(({ id, weight }) => [id, weight]))
  const body = { ...((description !== '' || backend) && { description }), backends }
  const path = `/backends/${kind}${backend ? `/${backend.id}` : ''}`
  const add = (child: BackendListing) => {
    setChildren([...children, { id: child.id, weight: 1 }])
    setAdded([...added, child])
  }

  const save = async () =>
    onDone(backend ? await api.patch<Backend>(path, body) : await api.post<Backend>(path, body))

  if (saved.value === undefined || choices.load.value === undefined) return <Loading />
  const listed = choices.load.value
  const context: FlowContext = {
    backends: new Map([
      ...added.map((child) => [child.id, child] as const),
      ...saved.value.backends,
      ...listed.context.backends,
    ]),
  }
  const excluded = [backend?.id, ...children.map(({ id }) => id)]
  if (creating)
    return (
      <NewChild
        parent={`${BACKEND_KIND_TEXTS[kind].title.toLowerCase()} ${description && `“${description}”`}`}
        onCancel={() => setCreating(false)}
        onDone={(child) => {
          add(listingOf(child))
          setCreating(false)
          choices.load.reload()
        }}
      />
    )
  return (
    <Form
      save={save}
      verb={backend ? 'Save' : `Create ${BACKEND_KIND_TEXTS[kind].title.toLowerCase()}`}
      onCancel={onCancel}
      calls={[{ method: backend ? 'PATCH' : 'POST', path, body }]}
    >
      {(error) => (
        <>
          <TextField
            label="Description"
            value={description}
            onValue={setDescription}
            hint="Shown in lists."
            error={error?.field === 'description' ? error.message : undefined}
          />
          <Field
            label={kind === 'weighted' ? 'Backends and weights' : 'Backends in order'}
            required
            error={concernsBackends(error) ? error?.message : undefined}
            hint={
              kind === 'weighted'
                ? 'Traffic is split by weight; 0 gets no traffic.'
                : 'A backend is tried when the ones before it have no tunnel online or cannot be reached.'
            }
          >
            {(control) => (
              <>
                <Children kind={kind} value={children} onValue={setChildren} context={context} />
                <div className="child-add">
                  {choices.search}
                  <select
                    {...control}
                    value=""
                    onChange={(event) => {
                      if (event.target.value === 'new') setCreating(true)
                      else if (event.target.value !== '') add(context.backends.get(event.target.value)!)
                    }}
                  >
                    <option value="">Add a backend…</option>
                    <option value="new">Create a new one</option>
                    {listed.ids
                      .filter((id) => !excluded.includes(id))
                      .map((id) => (
                        <option key={id} value={id}>
                          {nameOf(id, context)}
                        </option>
                      ))}
                  </select>
                </div>
              </>
            )}
          </Field>
          {error && !concernsBackends(error) && error.field !== 'description' && (
            <Notice kind="bad">{error.message}</Notice>
          )}
        </>
      )}
    </Form>
  )
}

const concernsBackends = (error: ApiError | undefined) => error?.field?.startsWith('backends') === true

/** Creates a child in the form of its group. */
function NewChild({ parent, ...props }: FormProps & { parent: string }) {
  return (
    <section className="inner-form" aria-label="New child backend">
      <h3>New backend for the {parent}</h3>
      <NewBackend {...props} />
    </section>
  )
}

/** The display name of a backend in lists. */
export function nameOf(id: string, context: FlowContext): string {
  const { title, summary, kind } = resolveBackend(id, context, 0)
  const group = kind === 'weighted' || kind === 'failover'
  return group || summary === '' ? title : `${title} (${summary})`
}

function Children({
  kind,
  value,
  onValue,
  context,
}: {
  kind: 'weighted' | 'failover'
  value: readonly Child[]
  onValue: (value: Child[]) => void
  context: FlowContext
}) {
  const total = value.reduce((sum, { weight }) => sum + weight, 0)
  const moveUp = (index: number) => {
    const next = [...value]
    next.splice(index - 1, 2, value[index]!, value[index - 1]!)
    onValue(next)
  }
  if (value.length === 0) return null
  return (
    <ol className="children">
      {value.map(({ id, weight }, index) => {
        const name = nameOf(id, context)
        return (
          <li key={id}>
            <Icon name={backendKindOf(id) ?? 'static'} />
            <span className="child-name">{name}</span>
            {kind === 'weighted' ? (
              <>
                <input
                  type="number"
                  min={0}
                  max={10_000}
                  className="weight"
                  aria-label={`Weight of ${name}`}
                  value={weight}
                  onChange={(event) =>
                    onValue(
                      value.map((child) =>
                        child.id === id ? { id, weight: Number(event.target.value) } : child,
                      ),
                    )
                  }
                />
                <span className="share">{total > 0 ? `${Math.round((weight / total) * 100)} %` : '–'}</span>
              </>
            ) : (
              <Button
                kind="quiet"
                aria-label={`Move ${name} up`}
                disabled={index === 0}
                onClick={() => moveUp(index)}
              >
                ↑
              </Button>
            )}
            <Button
              kind="quiet"
              aria-label={`Remove ${name}`}
              onClick={() => onValue(value.filter((child) => child.id !== id))}
            >
              ✕
            </Button>
          </li>
        )
      })}
    </ol>
  )
}
