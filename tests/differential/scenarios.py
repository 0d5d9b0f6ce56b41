"""Which programs show which item of the checklist of language constructs, by its number.

A word with a dash is a program of the corpus, `kind-name`; a path is a file of tests.
"""

NUMBERS = tuple(range(1, 193))

#: items about something that d2s does not have
WITHOUT = {
    71: "no guard against endless loops and no warning for long ones: Python has neither",
    103: "no directives for loops",
}

SCENARIOS = {
    185: "tests/test_as_it_is.py",
    190: "tests/test_as_it_is.py",
    # if
    1: "if-no_outputs_and_no_else",
    2: "if-no_outputs",
    3: "if-one_variable",
    4: "if-one_variable_both_sides",
    5: "if-two_variables",
    6: "if-two_variables_both_sides",
    7: "if-created_in_if_only if-created_in_if_only_and_taken if-created_under_a_static_flag",
    8: "if-one_variable_both_sides",
    9: "if-created_in_else_only",
    10: "del-in_a_branch_then_read",
    11: "del-in_both_branches_then_read",
    12: "del-in_else_then_read",
    13: "if-none_on_one_side",
    14: "if-none_on_both_sides",
    15: "if-none_by_a_static_flag exits-explicit_none_on_one_side",
    16: "if-local_of_a_branch_is_no_output",
    17: "if-local_of_both_branches",
    18: "if-dead_afterwards",
    19: "if-successive_with_the_same_names",
    20: "if-successive_with_the_same_names",
    21: "if-inner_depends_on_outer_write",
    22: "if-four_leaves",
    23: "exits-temporarily_undefined_return",
    24: "if-static_and_traced_conditions",
    25: "if-inner_depends_on_outer_write",
    26: "if-inner_writes_two_outer_variables",
    27: "loop_else-write_hidden_by_an_exception",
    28: "scopes-writes_a_global_under_a_condition",
    29: "if-elif_chain_on_one_integer if-elif_chain_of_intervals if-elif_without_else",
    30: "if-one_element_array_as_test loop_else-array_tests_of_one_element",
    31: "if-integer_truth if-float_truth if-integer_array_as_test",
    32: "if-test_with_two_elements",
    33: "if-static_truth_of_other_objects",
    34: "if-int_joins_float if-large_int_joins_float",
    35: "if-structure_differs if-dict_keys_in_another_order",
    36: "errors-raises_in_else errors-raises_under_a_condition",
    37: "loop_else-made_in_a_try_before",
    38: "functions-reads_globals scopes-reads_a_declared_name scopes-writes_a_global",
    39: "if-none_by_a_static_flag if-static_and_traced_conditions",
    40: "if-nested_structure",
    41: "state-attribute_in_a_branch state-attribute_without_a_value_before",
    42: "state-several_attributes",
    # expressions
    43: "expr-ternary",
    44: "expr-consecutive_ternaries",
    45: "expr-ternary_of_tuples",
    46: "expr-nested_ternary",
    47: "expr-ternary_int_joins_float",
    48: "expr-ternary_is_lazy",
    49: "expr-chains_of_and_and_or",
    50: "expr-or_is_lazy_with_calls",
    51: "expr-or_returns_the_operand expr-and_returns_the_operand",
    52: "expr-guards_with_is_none",
    53: "expr-not_of_values",
    54: "expr-equality",
    55: "expr-chained_comparison expr-chained_middle_evaluated_once",
    56: "expr-membership_and_identity comprehensions-integer_operators",
    57: "expr-truth_tables expr-static_and_traced_operands expr-operands_that_are_no_numbers",
    58: "expr-compound_test_of_a_while expr-compound_test_of_an_if",
    # while
    59: "loop_else-loops_for_their_effects",
    60: "while-one_variable while-two_variables while-never_entered",
    61: "while-returns_one_tuple",
    62: "while-successive_loops_share_names",
    63: "while-nested while-nested_and_dependent",
    64: "while-created_inside_and_run while-created_inside_or_not",
    65: "while-created_inside_as_structure",
    66: "while-created_depends_on_itself",
    67: "while-strings_and_objects_pass_through while-string_changes",
    68: "while-side_effect_in_the_test",
    69: "while-test_becomes_traced_after_two_rounds while-static_start_then_traced",
    70: "while-static_test_and_array_state while-integer_state_stays_integer",
    72: "while-float_as_test while-test_with_two_elements",
    73: "while-becomes_none while-int_start_joins_float while-shape_grows while-structure_grows",
    74: "loop_else-while_with_break loop_else-without_break",
    # for
    75: "for-numeric_list for-numeric_tuple for-elements for-static_range for-traced_range "
    "for-empty_list for-empty_array",
    76: "for-rows for-matrix_by_two_loops for-list_of_arrays_of_different_shape",
    77: "for-unpacked_rows for-enumerate_with_start_and_unpacking for-enumerate_without_unpacking",
    78: "for-zip_of_arrays for-zip_of_array_and_shorter_list for-reversed_rows for-dict_items "
    "loop_else-loop_over_a_set",
    79: "for-range_with_start for-range_with_negative_step for-range_with_traced_step",
    80: "for-iterates_over_a_call for-comprehension_in_the_body",
    81: "for-target_is_read_after for-target_keeps_its_old_value for-target_is_altered_in_the_body",
    82: "scopes-generator_as_a_loop_source loop_else-generators_as_sources",
    83: "for-created_inside_or_not for-created_inside_a_static_range",
    84: "loop_else-for_with_break loop_else-without_break",
    85: "for-list_of_strings for-list_of_functions for-numeric_list",
    86: "for-static_range_indexes_an_array for-product_of_static_ranges",
    87: "for-traced_range_indexes_an_array for-traced_range_indexes_a_list "
    "for-traced_range_indexes_functions",
    88: "for-carry_grows",
    89: "for-int_start_joins_float",
    90: "for-structure_through_a_helper",
    # break and continue
    91: "exits-continue_in_for exits-continue_in_while",
    92: "exits-continue_in_inner_loop",
    93: "exits-several_continues",
    94: "with-continue_inside with-continue_in_while_inside",
    95: "exits-break_in_traced_for exits-break_in_while",
    96: "exits-break_in_inner_loop",
    97: "exits-break_and_continue exits-dead_code_after_break_and_continue",
    98: "exits-break_then_another_if",
    99: "exits-correlated_breaks",
    100: "exits-break_in_nested_ifs loop_else-break_in_the_else_of_an_inner_loop",
    101: "with-break_inside finally-break_in_try_of_a_loop finally-continue_in_try_of_a_loop",
    102: "exits-traced_break_in_static_for while-while_true_with_traced_break",
    # return
    104: "exits-superfluous_returns",
    105: "exits-early_return exits-return_in_else_then_default",
    106: "exits-return_of_a_captured_name",
    107: "exits-falls_off_the_end",
    108: "exits-all_paths_return with-returns_through_two_managers "
    "with-unreachable_after_a_manager",
    109: "exits-return_before_a_loop",
    110: "exits-unconditional_return_in_for exits-unconditional_return_in_while_true "
    "exits-both_sides_return_in_a_loop",
    111: "exits-return_in_traced_for exits-return_in_while",
    112: "finally-return_in_try finally-return_in_finally_overrides "
    "finally-finally_may_return_then_default finally-some_paths_return_in_try",
    113: "finally-exception_while_returning",
    114: "exits-return_in_a_nested_function functions-def_inside_a_branch",
    115: "exits-bare_returns exits-no_return_at_all",
    116: "exits-returns_of_different_kind exits-returns_of_different_shape "
    "exits-returns_of_different_length",
    # nesting, scopes and closures
    117: "for-traced_in_traced for-dependent_ranges for-static_in_traced "
    "for-while_in_for_and_dependent",
    118: "for-local_temporary_under_if",
    119: "for-invariant_set_in_the_first_round for-made_in_the_first_round",
    120: "while-dead_temporaries",
    121: "for-invariant_made_in_the_first_static_round errors-possibly_unbound_in_a_loop",
    122: "functions-late_binding_of_lambdas functions-lambda_made_in_a_loop",
    123: "while-test_calls_a_local_function functions-function_defined_in_a_loop "
    "for-iterates_over_a_call",
    124: "calls-methods_of_every_kind functions-closure_sees_loop_writes",
    125: "functions-nested_function_writes_nonlocal_in_a_loop scopes-nonlocal_through_two_levels",
    126: "scopes-comprehension_names_are_their_own",
    127: "scopes-names_of_the_machinery while-names_that_clash if-own_function_is_called_cond",
    128: "scopes-class_with_control_flow_in_methods scopes-super_in_a_local_class",
    129: "scopes-import_in_a_run_time_branch functions-def_inside_a_branch "
    "with-manager_in_a_branch loop_else-handler_in_a_branch",
    # state in objects
    130: "state-entry_of_a_dict_in_a_branch state-entry_of_a_list_in_a_branch",
    131: "state-new_key_on_one_side state-new_key_in_else_of_a_nested_dict",
    132: "state-entry_of_a_dict_in_a_while state-entries_of_a_list_in_a_for",
    133: "state-entry_of_a_dict_in_a_while",
    134: "state-attribute_in_a_while state-attribute_made_in_a_loop",
    135: "state-variable_and_literal_subscripts state-slice_kept_in_a_local",
    136: "state-object_made_in_a_loop_is_local",
    137: "state-properties_are_read_only_where_the_program_reads state-objects_that_nobody_touches",
    # lists
    138: "boxes-append_in_a_static_loop boxes-append_and_stack boxes-all_ways_to_put_rows_together",
    139: "boxes-append_in_a_while boxes-append_until_a_break",
    140: "boxes-lists_of_lists boxes-length_read_in_the_loop boxes-window_that_moves",
    141: "boxes-pop_on_both_sides boxes-pop_and_insert_in_a_loop boxes-window_that_moves",
    142: "boxes-append_to_attributes_and_entries boxes-append_in_a_helper "
    "boxes-append_by_a_method_that_was_kept",
    143: "boxes-extend_and_add_in_place boxes-pop_on_both_sides boxes-length_read_in_the_loop",
    144: "boxes-append_in_no_trip boxes-append_of_empty_rows boxes-stack_of_what_does_not_stack",
    # calls
    156: "calls-arguments_of_every_kind functions-every_kind_of_argument calls-clashing_keywords",
    157: "calls-calls_in_arguments_and_chains functions-call_in_argument_and_chain",
    158: "functions-factory_made functions-function_as_parameter calls-aliased_builtins",
    159: "functions-recursion_of_static_depth calls-mutual_recursion",
    160: "calls-partials calls-partial_methods functions-is_a_partial",
    161: "calls-methods_of_every_kind functions-is_a_bound_method calls-attributes_made_on_demand",
    162: "functions-is_a_callable_object scopes-decorated_and_derived_class calls-abstract_class",
    163: "calls-named_tuple_with_a_method calls-dataclasses_inside",
    164: "functions-is_a_lambda expr-lambda_with_ternary scopes-lambda_defaults_and_stars",
    165: "scopes-super_in_a_local_class scopes-super_in_inner_functions functions-calls_super",
    166: "tests/converters/cases/fence.py",
    167: "functions-explicit_lax_calls calls-operator_helpers tests/test_conversion.py",
    168: "calls-do_not_convert_at_the_call_site tests/test_conversion.py",
    169: "tests/test_conversion.py",
    170: "calls-is_decorated calls-calls_a_jitted_function functions-jit_inside "
    "functions-vmap_inside calls-calls_functions_with_their_own_gradient",
    171: "scopes-generator_inside scopes-private_names_are_mangled tests/test_conversion.py",
    172: "functions-scan_inside functions-vmap_inside functions-gradient_inside",
    # subscripts
    145: "items-one_item items-items_at_static_positions items-one_item_of_a_grid",
    146: "items-all_kinds_of_slices items-windows_of_a_grid items-windows_of_blocks",
    147: "items-tuples_ellipsis_and_none items-lists_and_arrays_of_positions "
    "items-run_time_arrays_of_positions items-run_time_masks items-masks_of_rows "
    "items-static_masks",
    148: "items-every_augmented_form items-matrix_product_in_place",
    149: "items-every_part_once_and_in_order items-the_old_item_is_read_before_the_value",
    150: "items-one_item_of_a_grid items-arrays_in_objects_lists_and_dicts",
    151: "items-swapped items-several_targets items-chained_and_annotated",
    152: "items-deleted_items boxes-entries_and_attributes_deleted_together "
    "boxes-keys_popped_and_deleted",
    153: "boxes-written_entries_keep_identity boxes-append_on_both_sides "
    "items-lists_and_dicts_stay_the_same_objects items-numpy_arrays_of_static_items "
    "items-numpy_array_with_two_names items-numpy_array_with_a_view",
    154: "tests/backends/lax/library/test_items.py items-values_that_do_not_fit",
    155: "items-windows_inside items-windows_of_a_grid items-tuples_ellipsis_and_none",
    # builtins
    173: "calls-lengths calls-length_of_a_number library-iteration_helpers",
    174: "calls-casts calls-arithmetic_builtins calls-min_and_max calls-text_to_number "
    "library-rounded library-integer_of_what_is_no_number library-quotients",
    175: "calls-any_and_all calls-sorted_by_key calls-map_and_filter calls-iterators "
    "library-sorts library-sort_is_stable library-maps library-filters library-reduces",
    176: "calls-casts calls-containers_of_containers library-chains_of_casts",
    177: "print-separators_and_ends print-in_branches "
    "print-known_and_run_time_values_in_turn errors-prints_in_order",
    178: "errors-assertion errors-assertion_with_a_value errors-static_assertions",
    # functions, errors and tools
    179: "calls-looks_of_an_inner_function tests/test_conversion.py",
    180: "scopes-annotations_are_not_run scopes-declared_but_never_bound",
    181: "if-docstring_and_comments tests/source/test_parser.py",
    182: "tests/backends/lax/graph/test_positions.py",
    183: "errors-raises_on_two_paths finally-context_and_cause",
    184: "tests/source/test_emit.py",
    186: "tests/analysis/test_flow.py tests/analysis/test_scopes.py tests/analysis/test_order.py",
    187: "tests/fuzz/test_fuzz.py tests/differential/test_matrix.py",
    188: "match-in_a_while_loop walrus-in_the_test_of_a_while "
    "finally-name_of_a_handler_in_its_body finally-groups",
    # other
    189: "while-dead_temporaries errors-possibly_unbound_in_a_loop",
    191: "functions-explicit_lax_calls for-while_in_for_and_dependent",
    192: "functions-is_a_callable_object functions-is_a_lambda tests/test_conversion.py",
}

#: the same for the checklist of framework habits
HABITS = {
    75: "expr-not_of_values library-operators_for_truth",
    76: "expr-guards_with_is_none expr-and_returns_the_operand expr-or_returns_the_operand",
    77: "expr-chains_of_and_and_or expr-truth_tables",
    78: "library-numpy_shapes expr-equality",
    79: "library-chains_of_casts library-bools_in_arithmetic calls-casts",
    80: "calls-lengths library-iteration_helpers",
    81: "expr-lambda_with_ternary functions-is_a_lambda",
    82: "library-kinds_of_arguments library-kinds_of_arrays calls-getattr_and_friends",
    105: "library-numpy_of_numbers library-methods_of_arrays library-numpy_elementwise",
}
