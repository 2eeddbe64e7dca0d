import { ResourceForm } from '../../form/resource-form.tsx'
import { Dialog, Notice, notify } from '../../kit/index.ts'
import { ConfirmButton } from '../confirm-button.tsx'
import type { PageRoute } from '../resources.ts'

const FIELDS = ['match', 'match_type', 'description', 'metadata']

/** Adds a route to an edge, or changes or deletes one. */
export function RouteDialog({
  edgePath,
  route,
  mayChange,
  onClose,
  onDone,
}: {
  edgePath: string
  route: PageRoute | undefined
  mayChange: boolean
  onClose: () => void
  onDone: () => void
}) {
  const finish = (message: string) => {
    notify(message)
    onDone()
  }
  return (
    <Dialog title={route ? `Route ${route.match}` : 'New route'} onClose={onClose}>
      {!mayChange && <Notice>You can view this, but your role does not let you change it.</Notice>}
      {mayChange && (
        <ResourceForm
          method={route ? 'PATCH' : 'POST'}
          path={route ? `${edgePath}/routes/${route.id}` : `${edgePath}/routes`}
          item={route ? { ...route } : { match_type: 'path_prefix', match: '/' }}
          only={FIELDS}
          verb={route ? 'Save' : 'Add route'}
          onCancel={onClose}
          onDone={() => finish(route ? 'Saved.' : 'Route added. Now choose a backend.')}
        />
      )}
      {mayChange && route && (
        <div className="module-foot">
          <ConfirmButton
            label="Delete route"
            kind="danger"
            title={`Delete the route ${route.match}?`}
            call={{ method: 'DELETE', path: `${edgePath}/routes/${route.id}` }}
            onDone={() => finish('Route deleted.')}
          >
            Its modules are deleted too; the backend is kept. Requests for its path fall through to the next
            matching route.
          </ConfirmButton>
        </div>
      )}
    </Dialog>
  )
}
