//! What is not supported: each of these functions ends the program with its name, before it can do
//! something wrong.

use crate::interpose::process::refuse;

macro_rules! refused {
    ($why:literal: $($name:ident)*) => { $(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> ! {
            refuse(concat!("the program uses ", $why, " (", stringify!($name), ")"))
        }
    )* };
}

refused! { "a kind of explicit tasks of OpenMP that is not supported":
    __kmpc_omp_target_task_alloc __kmpc_omp_task_parts
    __kmpc_omp_task_begin __kmpc_omp_task_complete
    __kmpc_omp_reg_task_with_affinity
    __kmpc_task_reduction_init __kmpc_taskred_init __kmpc_task_reduction_get_th_data
    __kmpc_task_reduction_modifier_init __kmpc_taskred_modifier_init
    __kmpc_task_reduction_modifier_fini
    __kmpc_task_allow_completion_event
    GOMP_task GOMP_taskloop GOMP_taskloop_ull
    GOMP_taskgroup_reduction_register GOMP_taskgroup_reduction_unregister GOMP_task_reduction_remap
    GOMP_workshare_task_reduction_unregister
    omp_fulfill_event
}

refused! { "doacross loops of OpenMP":
    __kmpc_doacross_init __kmpc_doacross_wait __kmpc_doacross_post __kmpc_doacross_fini
    GOMP_doacross_post GOMP_doacross_wait GOMP_doacross_ull_post GOMP_doacross_ull_wait
    GOMP_loop_doacross_static_start GOMP_loop_doacross_dynamic_start GOMP_loop_doacross_guided_start
    GOMP_loop_doacross_runtime_start GOMP_loop_doacross_start
}

refused! { "a directive of OpenMP that is not supported":
    __kmpc_dist_for_static_init_4 __kmpc_dist_for_static_init_4u
    __kmpc_dist_for_static_init_8 __kmpc_dist_for_static_init_8u
    __kmpc_team_static_init_4 __kmpc_team_static_init_4u __kmpc_team_static_init_8
    __kmpc_team_static_init_8u
    __kmpc_dist_dispatch_init_4 __kmpc_dist_dispatch_init_4u __kmpc_dist_dispatch_init_8
    __kmpc_dist_dispatch_init_8u
    __kmpc_scope __kmpc_end_scope __kmpc_error
    __kmpc_alloc __kmpc_free __kmpc_aligned_alloc __kmpc_calloc __kmpc_realloc
    __kmpc_init_allocator __kmpc_destroy_allocator
    __kmpc_copyprivate_light __kmpc_threadprivate_register_vec __kmpc_push_num_teams_51
    GOMP_teams GOMP_teams_reg GOMP_target GOMP_target_ext GOMP_target_data GOMP_target_data_ext
    GOMP_parallel_reductions GOMP_scope_start GOMP_cancel GOMP_cancellation_point
    GOMP_ordered_start GOMP_ordered_end
    GOMP_loop_ordered_static_start GOMP_loop_ordered_dynamic_start GOMP_loop_ordered_guided_start
    GOMP_loop_ordered_runtime_start GOMP_loop_start GOMP_loop_ordered_start GOMP_loop_ull_start
    GOMP_sections2_start
}
